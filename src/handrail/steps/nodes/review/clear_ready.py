"""`clear-ready-to-merge`: removes the file `ready-to-merge.md` of a task, before a new review.

If it is interrupted after it removed the file, it still says so.
"""

from __future__ import annotations

import os
from typing import Any

from handrail.extensions.contracts import Node, NodeContext, Work
from handrail.steps.nodes.files.json_files import remove_file
from handrail.steps.nodes.review.verdict import TASK_KEY, task_artifacts

NODE = Node(
    about="Removes the file `ready-to-merge.md` of a task.",
    params=(TASK_KEY,),
    others="ignored",
    outputs={"cleared": "true if the file was there"},
)


async def run(work: Work, context: NodeContext) -> Any:
    path = task_artifacts(work, context).path("ready-to-merge-file")
    was_there = context.remember("wasThere", os.path.lexists(path)) is True
    return {"cleared": remove_file(context, path) or was_there}
