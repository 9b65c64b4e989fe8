"""`read-file`: the text of a file inside the project."""

from __future__ import annotations

from typing import Any

from handrail.contracts import Node, NodeContext, NodeError, Work
from handrail.nodes.write_file import inside
from handrail.source.fields import Field
from handrail.source.values import as_text
from handrail.state.regular import Unreadable, read_regular

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
    outputs={"text": "its text, without white space at both ends"},
)


async def run(work: Work, context: NodeContext) -> Any:
    path = as_text(work.params["path"])
    return {"text": _read(inside(context, path), path)}


def _read(real: str, path: str) -> str:
    try:
        return read_regular(real, MAX_BYTES).decode().strip()
    except Unreadable as error:
        raise NodeError("file-unreadable", f"`{path}` {error.message}", transient=False) from error
    except UnicodeDecodeError as error:
        message = f"`{path}` is not UTF-8 text: {error.reason} at byte {error.start}"
        raise NodeError("file-unreadable", message, transient=False) from error
