"""The files of a project, as an inventory sees them: paths, and the texts of small files.

It runs nothing and follows no links.
"""

from __future__ import annotations

import json
import os
from functools import cached_property

from handrail.errors import HandrailError
from handrail.state.regular import Unreadable, path_flaw, read_regular

IGNORED = (".git", "node_modules", "dist", "manifest-history", ".venv", "__pycache__", ".handrail", ".agentweaver")
MAX_FILES = 100_000
MAX_TEXT = 256 * 1024


class TooManyFiles(HandrailError):
    """The project has more files than an inventory reads."""

    code = "too-many-files"


class Repository:
    """A project's folder. `own` are paths that are left out: the files with a result."""

    def __init__(self, project: str, own: tuple[str, ...] = ()) -> None:
        self.project = project
        self.own = own
        self._texts: dict[str, str] = {}

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The paths of all files, sorted, without the folders of tools. Raises `TooManyFiles`."""
        found: list[str] = []
        for folder, folders, names in os.walk(self.project):
            folders[:] = sorted(name for name in folders if name not in IGNORED)
            below = os.path.relpath(folder, self.project)
            found += [name if below == "." else f"{below}/{name}" for name in sorted(names)]
            if len(found) > MAX_FILES:
                raise TooManyFiles(f"the project has more than {MAX_FILES} files")
        left_out = {os.path.relpath(os.path.join(self.project, path), self.project) for path in self.own}
        return tuple(sorted(p for p in found if path_flaw(p) is None and _is_printable(p) and p not in left_out))

    def text(self, path: str) -> str:
        """The text of a small file; empty for any other, and for a link."""
        if path not in self._texts:
            self._texts[path] = self._read(path)
        return self._texts[path]

    def _read(self, path: str) -> str:
        real = os.path.join(self.project, path)
        if os.path.islink(real):
            return ""
        try:
            return read_regular(real, MAX_TEXT).decode("utf-8", "replace")
        except Unreadable:
            return ""

    @cached_property
    def scripts(self) -> dict[str, str]:
        """The scripts in `package.json`, by name."""
        try:
            data = json.loads(self.text("package.json"))
        except (ValueError, RecursionError):
            return {}
        found = data.get("scripts") if isinstance(data, dict) else None
        rows = found.items() if isinstance(found, dict) else ()
        return {name: line for name, line in sorted(rows) if isinstance(line, str)}


def _is_printable(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
