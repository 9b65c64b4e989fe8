"""Takes what an earlier attempt published out of the project, before the next one begins. Its content is kept.

Done before the first step of the new attempt, and again if that was interrupted: until then none of these files can be
the new attempt's own.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Sequence


def digest_of_file(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def put_aside(project: str, files: Sequence[Sequence[str]]) -> None:
    """Remove files, (path, digest), that nobody has changed since they were published."""
    for path, digest in files:
        file = os.path.join(project, path)
        if digest_of_file(file) == digest:
            with contextlib.suppress(OSError):
                os.unlink(file)
