"""`wait`: waits for a number of seconds."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, Work
from handrail.source.fields import Field

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
    seconds = work.params["seconds"]
    await context.rest(seconds)
    return {"seconds": seconds}
