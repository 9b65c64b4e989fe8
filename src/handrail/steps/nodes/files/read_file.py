"""`read-file`: the text of a file inside the project."""

from __future__ import annotations

import json
from typing import Any

from handrail.base.files import Unreadable, read_limited
from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.source.fields import Field
from handrail.source.values import as_text
from handrail.steps.nodes.files.write_file import path_inside

MAX_BYTES = 16 * 1024 * 1024
NODE = Node(
    about="Reads a text file of the project.",
    params=(
        Field(
            "path",
            ("text",),
            "the file, relative to the project",
            required=True,
            shortest=1,
            names="path",
            also=("file", "filename"),
        ),
    ),
    others="ignored",
    outputs={
        "text": "its text, without white space at both ends",
        "data": "what it holds, if its name ends with `.json` and it is JSON; else null",
    },
    is_harmless=True,
)


async def run(work: Work, context: NodeContext) -> Any:
    path = as_text(work.params["path"])
    text = _read(path_inside(context, path), path)
    return {"text": text, "data": _data(text) if path.endswith(".json") else None}


def _data(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _read(real: str, path: str) -> str:
    try:
        return read_limited(real, MAX_BYTES).decode().strip()
    except Unreadable as error:
        raise NodeError("file-unreadable", f"`{path}` {error.message}", transient=False) from error
    except UnicodeDecodeError as error:
        message = f"`{path}` is not UTF-8 text: {error.reason} at byte {error.start}"
        raise NodeError("file-unreadable", message, transient=False) from error
