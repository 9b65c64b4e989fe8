"""`file-check`, `read-file` and `write-file`, inside the project and nowhere else."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from handrail.contracts import NodeContext, NodeError, Work

RERUN = "safe"
MAX_BYTES = 16 * 1024 * 1024


async def run(work: Work, context: NodeContext) -> Any:
    path = str(work.params["path"])
    real = os.path.realpath(os.path.join(context.project, path))
    if work.node == "file-check":
        return {"exists": os.path.exists(real)}
    if not real.startswith(context.project.rstrip("/") + "/"):
        raise NodeError("path-escape", f"`{path}` leads out of the project", transient=False)
    if work.node == "read-file":
        return {"text": _read(real, path)}
    put_file(real, str(work.params["text"]))
    return {"path": path}


def put_file(real: str, text: str) -> None:
    """A whole file in place of another, on the disk before anyone is told; or nothing at all."""
    os.makedirs(os.path.dirname(real), exist_ok=True)
    handle, new = tempfile.mkstemp(prefix=".handrail-", dir=os.path.dirname(real))
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(new, 0o644)
        os.replace(new, real)
    except BaseException:
        os.unlink(new)
        raise


def _read(real: str, path: str) -> str:
    try:
        if os.path.getsize(real) > MAX_BYTES:
            raise NodeError("file-too-large", f"`{path}` is larger than {MAX_BYTES} bytes", transient=False)
        with open(real, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise NodeError("file-unreadable", f"`{path}` cannot be read: {error}", transient=False) from error
