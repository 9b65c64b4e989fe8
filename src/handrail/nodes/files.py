"""`file-check`, `read-file` and `write-file`, inside the project and nowhere else."""

from __future__ import annotations

import os
from typing import Any

from handrail.contracts import NodeContext, NodeError, Work
from handrail.state.files import real_inside, write_whole

RERUN = "safe"
MAX_BYTES = 16 * 1024 * 1024


async def run(work: Work, context: NodeContext) -> Any:
    path = str(work.params["path"])
    if work.node == "file-check":
        return {"exists": os.path.exists(os.path.join(context.project, path))}
    real = real_inside(context.project, path)
    if real is None or real == context.project:
        raise NodeError("path-escape", f"`{path}` leads out of the project", transient=False)
    if work.node == "read-file":
        return {"text": _read(real, path)}
    put_file(real, str(work.params["text"]))
    return {"path": path}


def put_file(real: str, text: str) -> None:
    """Write a whole file; it is on the disk when this returns."""
    os.makedirs(os.path.dirname(real), exist_ok=True)
    write_whole(real, text.encode(), durable=True, mode=0o644)


def _read(real: str, path: str) -> str:
    try:
        if os.path.getsize(real) > MAX_BYTES:
            raise NodeError("file-too-large", f"`{path}` is larger than {MAX_BYTES} bytes", transient=False)
        with open(real, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise NodeError("file-unreadable", f"`{path}` cannot be read: {error}", transient=False) from error
