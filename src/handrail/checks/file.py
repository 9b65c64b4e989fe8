"""`file: PATH`: a regular file is there, inside the project, and has something in it."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Any

from handrail.contracts import CheckContext, Finding
from handrail.state.files import real_inside


async def verify(params: Mapping[str, Any], context: CheckContext) -> Finding:
    real = real_inside(context.project, params["path"])
    if real is None:
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
