"""`wait`: waits for a number of seconds."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.source.fields import Field
from handrail.source.values import Unresolved, number

MAX_SECONDS = 604_800
NODE = Node(
    about="Waits for a number of seconds.",
    params=(
        Field(
            "seconds",
            ("integer", "number"),
            "how long",
            required=True,
            least=0,
            most=MAX_SECONDS,
            unit="seconds",
            also=("duration", "time", "for", "delay"),
        ),
    ),
    outputs={"seconds": "how long it waited"},
    is_harmless=True,
)


async def run(work: Work, context: NodeContext) -> Any:
    try:
        seconds = number(work.params["seconds"])
    except Unresolved as error:
        raise NodeError("params", error.message, transient=False) from error
    if not 0 <= seconds <= MAX_SECONDS:
        raise NodeError("params", f"`seconds` has to be between 0 and {MAX_SECONDS}", transient=False)
    await context.rest(seconds)
    return {"seconds": seconds}
