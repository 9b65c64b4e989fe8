"""A node that a test registers, as an extension would."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, OneNode, Work
from handrail.source.fields import Field

NODE = Node(
    about="Greets somebody.",
    params=(
        Field("name", ("text",), "who is greeted", required=True, shortest=1),
        Field("times", ("integer",), "how often", default=1, least=1, most=3),
    ),
    outputs={"greeting": "what was said"},
)


async def run(work: Work, context: NodeContext) -> Any:
    assert context.project
    return {"greeting": " ".join([f"hello {work.params['name']}"] * int(work.params.get("times", 1)))}


async def _wave(work: Work, context: NodeContext) -> Any:
    return {"greeting": "o/"}


WAVE = OneNode(Node(about="Waves.", outputs={"greeting": "the wave"}), _wave)
