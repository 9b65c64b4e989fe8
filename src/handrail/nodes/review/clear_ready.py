"""`clear-ready-to-merge`: removes the file `ready-to-merge.md` of a task, before a new review.

If it is interrupted after it removed the file, it still says so.
"""

from __future__ import annotations

import os
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
    path = inputs_of(work, context).path("ready-to-merge-file")
    was_there = context.remember("wasThere", os.path.lexists(path)) is True
    return {"cleared": remove_file(context, path) or was_there}
