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
    os.makedirs(os.path.dirname(real), exist_ok=True)
    handle, new = tempfile.mkstemp(prefix=".handrail-", dir=os.path.dirname(real))
    with open(handle, "w", encoding="utf-8") as file:
        file.write(str(work.params["text"]))
    os.chmod(new, 0o644)
    os.replace(new, real)
    return {"path": path}


def _read(real: str, path: str) -> str:
    try:
        if os.path.getsize(real) > MAX_BYTES:
            raise NodeError("file-too-large", f"`{path}` is larger than {MAX_BYTES} bytes", transient=False)
        with open(real, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise NodeError("file-unreadable", f"`{path}` cannot be read: {error}", transient=False) from error
