"""Removes the files that an earlier attempt published from the project. Their content stays on the shelf.

This happens before the first step of the new attempt, and again if it was interrupted. At that time none of these
files can belong to the new attempt.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from handrail.artifacts.fingerprint import digest_of_file


def remove_unchanged(project: str, files: Sequence[Sequence[str]]) -> None:
    """Remove the files, given as (path, digest), that have not changed since they were published."""
    for path, digest in files:
        file = os.path.join(project, path)
        if digest_of_file(file) == digest:
            with contextlib.suppress(OSError):
                os.unlink(file)
