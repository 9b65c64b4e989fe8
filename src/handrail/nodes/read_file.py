"""`read-file`: the text of a file inside the project."""

from __future__ import annotations

import os
from typing import Any

from handrail.contracts import Node, NodeContext, NodeError, Work
from handrail.nodes.write_file import inside
from handrail.source.fields import Field
from handrail.source.values import as_text

MAX_BYTES = 16 * 1024 * 1024
NODE = Node(
    about="Reads a text file of the project.",
    params=(Field("path", ("text",), "the file, relative to the project", required=True, shortest=1, names="path"),),
    others="ignored",
    outputs={"text": "its text, without white space at both ends"},
)


async def run(work: Work, context: NodeContext) -> Any:
    path = as_text(work.params["path"])
    return {"text": _read(inside(context, path), path)}


def _read(real: str, path: str) -> str:
    try:
        if os.path.getsize(real) > MAX_BYTES:
            raise NodeError("file-too-large", f"`{path}` is larger than {MAX_BYTES} bytes", transient=False)
        with open(real, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise NodeError("file-unreadable", f"`{path}` cannot be read: {error}", transient=False) from error
