"""Files that steps write into the project for a moment. If the driver is killed, the next one removes them.

The list has only paths. Only files with our own names are removed, and only those on the list of this run.
"""

from __future__ import annotations

import contextlib
import os

from handrail.contracts.node import LITTER
from handrail.state.files import open_private

FILE = "litter"


class Litter:
    """The temporary files of one attempt."""

    def __init__(self, attempt: str) -> None:
        self.file = os.path.join(attempt, FILE)

    def add(self, path: str) -> None:
        """Remember a file before it is created."""
        with contextlib.suppress(OSError), open(self.file, "ab", opener=open_private) as file:
            file.write(os.fsencode(path) + b"\0")

    def remove(self) -> None:
        """Remove the files that are left. Called while no step of the run is running."""
        try:
            with open(self.file, "rb") as file:
                paths = file.read().split(b"\0")[:-1]
        except OSError:
            return
        for path in map(os.fsdecode, paths):
            if os.path.basename(path).startswith(LITTER) and not os.path.islink(path):
                with contextlib.suppress(OSError):
                    os.unlink(path)
        with contextlib.suppress(OSError):
            os.unlink(self.file)
