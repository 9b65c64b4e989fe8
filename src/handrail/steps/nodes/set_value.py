"""`set`: its outputs are its params."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, Work

NODE = Node(
    about="Its outputs are its params, so that later steps can refer to these values.",
    others="used",
    open_outputs=True,
    members=dict.fromkeys,
    instant=True,
    is_harmless=True,
)


async def run(work: Work, context: NodeContext) -> Any:
    del context
    return work.params
