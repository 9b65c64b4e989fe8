"""`clear-ready-to-merge`: removes the file `ready-to-merge.md` of a task, before a new review."""

from __future__ import annotations

from typing import Any

from handrail.contracts import Node, NodeContext, Work
from handrail.nodes.jsonfiles import remove_file
from handrail.nodes.review.scope import TASK_KEY, inputs_of

NODE = Node(
    about="Removes the file `ready-to-merge.md` of a task.",
    params=(TASK_KEY,),
    others="ignored",
    outputs={"cleared": "true if the file was there"},
)


async def run(work: Work, context: NodeContext) -> Any:
    return {"cleared": remove_file(context, inputs_of(work, context).path("ready-to-merge-file"))}
