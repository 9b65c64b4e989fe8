"""The files of a plugin's folder, read once: what is trusted, shown and imported are the same bytes."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping

from handrail.source.dataclasses import dataclass
from handrail.state.regular import Unreadable, read_regular

MAX_FILES = 2_000
MAX_BYTES = 16 * 1_048_576
IGNORED = "__pycache__"
"""Python and tests write this folder. Handrail never reads it: it compiles the sources of a plugin itself."""


class Unusable(Exception):
    """A folder that cannot be trusted as a whole. The message says why."""


@dataclass(frozen=True)
class Content:
    """All files of a folder: path below the folder → bytes."""

    files: Mapping[str, bytes]

    @property
    def digest(self) -> str:
        """One digest of all names and bytes."""
        whole = hashlib.sha256()
        for name, data in sorted(self.files.items()):
            encoded = name.encode("utf-8", "surrogateescape")
            whole.update(b"%d:%s%d:" % (len(encoded), encoded, len(data)))
            whole.update(data)
        return whole.hexdigest()


def read_content(folder: str) -> Content:
    """The files of a plugin. Raises `Unusable` if there is a link, something that is no file, or too much."""
    files: dict[str, bytes] = {}
    total = 0
    for name in _names(folder, ""):
        try:
            files[name] = read_regular(os.path.join(folder, name), MAX_BYTES)
        except Unreadable as error:
            raise Unusable(f"`{name}` {error.message}") from error
        total += len(files[name])
        if len(files) > MAX_FILES or total > MAX_BYTES:
            raise Unusable(f"it has more than {MAX_FILES} files or {MAX_BYTES} bytes")
    return Content(files)


def _names(folder: str, below: str) -> Iterator[str]:
    try:
        with os.scandir(os.path.join(folder, below)) as scanned:
            entries = sorted(scanned, key=lambda entry: entry.name)
    except OSError as error:
        raise Unusable(f"`{below or folder}` cannot be listed: {error.strerror}") from error
    for entry in entries:
        name = os.path.join(below, entry.name)
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            raise Unusable(f"`{name}` is a link; a plugin has to consist of files and folders")
        if stat.S_ISDIR(mode):
            if entry.name != IGNORED:
                yield from _names(folder, name)
        else:
            yield name
