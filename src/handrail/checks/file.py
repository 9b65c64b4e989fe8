"""`file: PATH`: a regular file is there, inside the project, and has something in it."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Any

from handrail.contracts import CheckContext, Finding


async def verify(params: Mapping[str, Any], context: CheckContext) -> Finding:
    root = os.path.realpath(context.project)
    real = os.path.realpath(os.path.join(root, params["path"]))
    if not real.startswith(root.rstrip("/") + "/"):
        return Finding(False, "it leads out of the project")
    try:
        status = os.stat(real)
    except OSError as error:
        return Finding(False, "it does not exist" if isinstance(error, FileNotFoundError) else str(error.strerror))
    if not stat.S_ISREG(status.st_mode):
        return Finding(False, "it is not a file")
    if status.st_size == 0:
        return Finding(False, "it is empty")
    return Finding(True, f"{status.st_size} bytes")
