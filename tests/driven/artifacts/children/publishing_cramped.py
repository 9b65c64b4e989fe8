"""Publishes while the system lets no file grow past a limit, then again without it.

Prints what the two came to, as one JSON object: `publishing_cramped.py FOLDER LIMIT`.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys

from handrail.base.errors import StateError
from handrail.driven.artifacts.shelf import ArtifactVersion, Shelf

DRAFT = ArtifactVersion(
    scope="s",
    key="notes.md",
    name="notes",
    path="notes.md",
    run="r",
    step="p/x",
    schema="markdown/v1",
    family="markdown",
    created=1.0,
)
CONTENT = b"n" * 100


def main(folder: str, limit: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    shelf = Shelf(folder)
    before = len(shelf.records())
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    said: dict[str, object] = {"error": None, "hint": None}
    try:
        shelf.publish(DRAFT, CONTENT)
    except StateError as error:
        said = {"error": error.message, "hint": error.hint}
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    said["added"] = len(Shelf(folder).records()) - before
    said["left"] = os.path.exists(os.path.join(folder, "content", "new"))
    said["then"] = shelf.publish(DRAFT, CONTENT).version
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
