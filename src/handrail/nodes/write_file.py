"""`write-file`: writes a text file inside the project."""

from __future__ import annotations

import os
from typing import Any

from handrail.contracts import Node, NodeContext, NodeError, Work
from handrail.source.fields import SCALARS, Field
from handrail.source.values import as_text
from handrail.state.files import real_inside, write_whole
from handrail.state.regular import other_kind, why_outside

NODE = Node(
    about="Writes a text file in the project, and creates its folder if needed.",
    params=(
        Field("path", ("text",), "the file, relative to the project", required=True, shortest=1, names="path"),
        Field("text", SCALARS, "the whole content of the file", required=True),
    ),
    outputs={"path": "the path as it was given"},
)


async def run(work: Work, context: NodeContext) -> Any:
    path = as_text(work.params["path"])
    put_file(inside(context, path), as_text(work.params["text"]))
    return {"path": path}


def inside(context: NodeContext, path: str) -> str:
    """The real path of a file inside the project."""
    real = real_inside(context.project, path)
    if real is None or real == context.project:
        raise NodeError("path-escape", f"`{path}` {why_outside(path)}", transient=False)
    return real


def put_file(real: str, text: str) -> None:
    """Write a whole file. It is on disk when this returns."""
    if os.path.exists(real) and (kind := other_kind(os.stat(real).st_mode)) is not None:
        raise NodeError("file-kind", f"`{real}` is {kind}, not a file", transient=False)
    os.makedirs(os.path.dirname(real), exist_ok=True)
    write_whole(real, text.encode(), durable=True, mode=0o644)
