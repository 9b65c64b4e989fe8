"""`file-check`: says whether a path exists."""

from __future__ import annotations

import os
from typing import Any

from handrail.contracts import Node, NodeContext, Work
from handrail.source.fields import Field
from handrail.source.values import as_text

NODE = Node(
    about="Says whether a path exists.",
    params=(Field("path", ("text",), "the path, relative to the project", required=True),),
    others="ignored",
    outputs={"exists": "true if the path exists; an empty path does not"},
)


async def run(work: Work, context: NodeContext) -> Any:
    path = as_text(work.params["path"])
    return {"exists": path != "" and os.path.exists(os.path.join(context.project, path))}
