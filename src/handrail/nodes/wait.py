"""`wait`: lets some time pass."""

from __future__ import annotations

import asyncio
from typing import Any

from handrail.contracts import NodeContext, NodeError, Work
from handrail.source.values import Unresolved, number

RERUN = "safe"
MAX_SECONDS = 604_800


async def run(work: Work, context: NodeContext) -> Any:
    del context
    try:
        seconds = number(work.params["seconds"])
    except Unresolved as error:
        raise NodeError("params", error.message, transient=False) from error
    if not 0 <= seconds <= MAX_SECONDS:
        raise NodeError("params", f"`seconds` has to be between 0 and {MAX_SECONDS}", transient=False)
    await asyncio.sleep(seconds)
    return {"seconds": seconds}
