"""`require-artifacts`: all these files exist inside the project."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from handrail.base.files import real_inside, why_outside
from handrail.extensions.contracts import Check, CheckContext, Finding
from handrail.source.fields import Field
from handrail.source.plain_text import counted
from handrail.source.values import as_text

CHECK = Check(
    about="Files exist inside the project. They may be empty.",
    words="exist",
    is_harmless=True,
    params=(
        Field(
            "paths",
            ("list", "text"),
            "their paths, relative to the project",
            required=True,
            items=("text",),
            names="path",
        ),
    ),
)


async def verify(params: Mapping[str, Any], context: CheckContext) -> Finding:
    paths = params["paths"]
    return missing(paths if isinstance(paths, list) else [paths], context)


def missing(paths: list[Any], context: CheckContext) -> Finding:
    """The finding about these paths: it holds if each is a file, else it names the first that is not."""
    for path in map(as_text, paths):
        real = real_inside(context.project, path)
        if real is None:
            return Finding(None, f"`{path}` {why_outside(path)}")
        if not os.path.isfile(real):
            return Finding(False, f"`{path}` is missing")
    return Finding(True, counted(len(paths), "file"))
