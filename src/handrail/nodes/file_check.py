"""`file-check`: says whether a path exists."""

from __future__ import annotations

import os
from typing import Any

from handrail.contracts import Node, NodeContext, Work
from handrail.source.fields import Field

NODE = Node(
    about="Says whether a path exists.",
    params=(Field("path", ("text",), "the path, relative to the project", required=True, shortest=1),),
    others="ignored",
    outputs={"exists": "true if the path exists"},
)


async def run(work: Work, context: NodeContext) -> Any:
    return {"exists": os.path.exists(os.path.join(context.project, str(work.params["path"])))}
