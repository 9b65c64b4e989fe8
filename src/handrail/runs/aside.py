"""Takes what an earlier attempt published out of the project, before the next one begins. Its content is kept.

Done when the new attempt is driven for the first time, and again if that was cut off: before its first step nothing of
its own can lie there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os

from handrail.runs.request import About
from handrail.state import files

DONE = "aside"


def digest_of_file(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def put_aside(project: str, folder: str, about: About) -> None:
    done = os.path.join(folder, DONE)
    if not about.aside or os.path.exists(done):
        return
    for path, digest in about.aside:
        file = os.path.join(project, path)
        if digest_of_file(file) == digest:
            with contextlib.suppress(OSError):
                os.unlink(file)
    files.replace(done, b"", durable=True)
