"""`file-check`: says whether a path exists."""

from __future__ import annotations

import os
from typing import Any

from handrail.extensions.contracts import Node, NodeContext, Work
from handrail.source.fields import SCALARS, Field
from handrail.source.values import as_text

NOT_USED = "accepted because AgentWeaver's flows have it; not used"
NODE = Node(
    about="Says whether a path exists.",
    params=(
        Field("path", ("text", "null"), "the path, relative to the project", required=True),
        Field("panelTitle", SCALARS, NOT_USED),
        Field("foundMessage", SCALARS, NOT_USED),
        Field("tone", SCALARS, NOT_USED),
    ),
    others="ignored",
    outputs={"exists": "true if the path exists; an empty path and null do not"},
    is_harmless=True,
)


async def run(work: Work, context: NodeContext) -> Any:
    given = work.params["path"]
    path = "" if given is None else as_text(given)
    return {"exists": path != "" and os.path.exists(os.path.join(context.project, path))}
