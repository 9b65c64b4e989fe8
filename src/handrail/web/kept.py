"""What a server keeps for its next start: its port, and the digests of the cookies that it gave out."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping

from handrail.errors import StateError
from handrail.project import file_name
from handrail.state.files import make_private, read_regular, replace

FOLDER = "web"


class Kept:
    """The folder of the server of a project. Each project has its own, so a page never reaches another project."""

    def __init__(self, state: str, project: str) -> None:
        self.folder = os.path.join(state, FOLDER, file_name(os.path.realpath(project)))
        make_private(self.folder)
        self._read: tuple[int, int] | None = None
        self._cookies: dict[str, float] = {}

    def cookies(self) -> Mapping[str, float]:
        """The digests of cookies, with the times until which they are valid. Read again only after a change."""
        path = self._path("cookies")
        try:
            found = os.stat(path)
        except OSError:
            return {}
        if self._read != (found.st_mtime_ns, found.st_ino):
            self._read, self._cookies = (found.st_mtime_ns, found.st_ino), {}
            with contextlib.suppress(OSError, ValueError, AttributeError):
                data = json.loads(read_regular(path))
                self._cookies = {str(digest): float(until) for digest, until in data.items()}
        return self._cookies

    def keep(self, cookies: Mapping[str, float]) -> None:
        self._write("cookies", json.dumps(dict(cookies)))

    @property
    def port(self) -> int:
        """The port of the last time, so that a page that is still open finds the server again. 0: any port."""
        try:
            return int(read_regular(self._path("port")))
        except (OSError, ValueError):
            return 0

    @port.setter
    def port(self, port: int) -> None:
        self._write("port", f"{port}\n")

    def _write(self, name: str, text: str) -> None:
        """Write a file. If the disk is full or read-only, only the next start of the server is affected."""
        with contextlib.suppress(StateError):
            replace(self._path(name), text.encode(), durable=False)

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)
