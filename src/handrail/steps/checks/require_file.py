"""`require-file`: a file or a folder exists."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from handrail.base.files import path_flaw
from handrail.extensions.contracts import Check, CheckContext, Finding
from handrail.source.fields import Field
from handrail.source.values import as_text

CHECK = Check(
    about="A file or a folder exists. It may be empty and may lie outside the project; `file` is stricter.",
    words="exists",
    is_harmless=True,
    params=(
        Field(
            "path",
            ("text", "list"),
            "its path, relative to the project",
            required=True,
            items=("text",),
        ),
    ),
)


async def verify(params: Mapping[str, Any], context: CheckContext) -> Finding:
    """As in AgentWeaver, a path may be a folder, and may lead out of the project: it is only looked at."""
    given = params["path"]
    paths = [as_text(path) for path in (given if isinstance(given, list) else [given])]
    for path in paths:
        if not path or not os.path.exists(os.path.join(context.project, path)):
            return Finding(False, f"`{path}` {path_flaw(path) or 'is missing'}")
    return Finding(True, "it exists" if len(paths) == 1 else f"all {len(paths)} exist")
