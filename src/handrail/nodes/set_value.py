"""`set`: its value is its params."""

from __future__ import annotations

from typing import Any

from handrail.contracts import NodeContext, Work

RERUN = "safe"
INSTANT = True


async def run(work: Work, context: NodeContext) -> Any:
    del context
    return work.params
