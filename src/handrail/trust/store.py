"""The record of what a person trusts: one small file for each project, below Handrail's state folder.

Standard library only, because hooks use it. Nothing in a project can change this record, and `HANDRAIL_TRUST` is no
part of it: that is a word for one call, and who may give it is decided where the call comes in.
"""

from __future__ import annotations

import os

from handrail.errors import StateError
from handrail.project import file_name
from handrail.state.files import make_private, read_regular, replace
from handrail.state.private import refuse_shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = "trust"


class Trusted:
    """A person's word for one folder. With `below` it holds for every project inside of it too."""

    __slots__ = ("at", "below", "path")

    def __init__(self, path: str, at: float, *, below: bool) -> None:
        self.path = path
        self.at = at
        self.below = below


class TrustStore:
    """The folders that a person trusted. `state` is Handrail's state folder."""

    __slots__ = ("folder", "state")

    def __init__(self, state: str) -> None:
        self.state = state
        self.folder = os.path.join(state, FOLDER, "projects")

    def find(self, project: str) -> Trusted | None:
        """The record that trusts a project: its own, or that of a folder above it which trusts everything below."""
        project = os.path.realpath(project)
        refuse_shared(self.state, self.folder)
        record, folder = self._read(project), project
        while record is None and folder != os.path.dirname(folder):
            folder = os.path.dirname(folder)
            above = self._read(folder)
            record = above if above is not None and above.below else None
        return record

    def grant(self, project: str, at: float, *, below: bool = False) -> Trusted:
        """Trust a folder. Repeating it changes nothing but the time."""
        import json

        project = os.path.realpath(project)
        refuse_shared(self.state, self.folder)
        make_private(self.folder)
        record = {"path": project, "at": at, "below": below}
        replace(self._file(project), json.dumps(record).encode() + b"\n", durable=True)
        return Trusted(project, at, below=below)

    def revoke(self, project: str) -> bool:
        """Take back the word for exactly this folder. False if there was none."""
        refuse_shared(self.state, self.folder)
        path = self._file(os.path.realpath(project))
        try:
            os.unlink(path)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StateError(f"`{path}` cannot be removed: {error.strerror}") from error
        return True

    def all(self) -> list[Trusted]:
        """Every record, by path."""
        refuse_shared(self.state, self.folder)
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        found = [_parsed(os.path.join(self.folder, name)) for name in names if name.endswith(".json")]
        return sorted((one for one in found if one is not None), key=lambda one: one.path)

    def _read(self, path: str) -> Trusted | None:
        """The record of exactly this path. A file that cannot be read, or that says another path, trusts nothing."""
        record = _parsed(self._file(path))
        return record if record is not None and record.path == path else None

    def _file(self, path: str) -> str:
        return os.path.join(self.folder, f"{file_name(path)}.json")


def _parsed(path: str) -> Trusted | None:
    import json

    try:
        data: Any = json.loads(read_regular(path))
        return Trusted(str(data["path"]), float(data["at"]), below=data["below"] is True)
    except (OSError, ValueError, KeyError, TypeError):
        return None
