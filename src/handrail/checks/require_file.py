"""`require-file`: a file exists inside the project."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.checks.require_artifacts import missing
from handrail.contracts import Check, CheckContext, Finding
from handrail.source.fields import Field

CHECK = Check(
    about="A file exists inside the project. It may be empty; `file` refuses that.",
    words="exists",
    params=(
        Field(
            "path",
            ("text", "list"),
            "its path, relative to the project",
            required=True,
            items=("text",),
            names="path",
        ),
    ),
)


async def verify(params: Mapping[str, Any], context: CheckContext) -> Finding:
    path = params["path"]
    return missing(path if isinstance(path, list) else [path], context)
