"""`file: PATH`: a regular file exists inside the project and is not empty."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Any

from handrail.base.files import real_inside, why_outside
from handrail.extensions.contracts import Check, CheckContext, Finding
from handrail.source.fields import Field, MappingReader
from handrail.source.plain_text import counted
from handrail.source.tree import TreeNode
from handrail.source.values import as_text


def _check_path(reader: MappingReader, node: TreeNode) -> None:
    path = node.value.strip()
    if path.startswith("/") or ".." in path.replace("\\", "/").split("/") or "\0" in path:
        hint = "write a path below the project, without `..`"
        reader.on(node, "exit-path", f"`{path}` is not a path inside the project", hint)


CHECK = Check(
    about="A file exists inside the project and is not empty.",
    words="exists",
    is_harmless=True,
    short="path",
    also=("exists", "fileExists"),
    params=(
        Field(
            "path",
            ("text",),
            "the path of the file, relative to the project",
            required=True,
            shortest=1,
            check=_check_path,
        ),
    ),
)


async def verify(params: Mapping[str, Any], context: CheckContext) -> Finding:
    real = real_inside(context.project, as_text(params["path"]))
    if real is None:
        return Finding(False, f"it {why_outside(as_text(params['path']))}")
    try:
        status = os.stat(real)
    except OSError as error:
        return Finding(False, "it does not exist" if isinstance(error, FileNotFoundError) else str(error.strerror))
    if not stat.S_ISREG(status.st_mode):
        return Finding(False, "it is not a file")
    if status.st_size == 0:
        return Finding(False, "it is empty")
    return Finding(True, counted(status.st_size, "byte"))
