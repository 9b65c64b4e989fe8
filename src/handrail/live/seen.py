"""What a person has opened: one file per project, with the id of a row of home and when it was last opened.

Several processes may write it: each takes a lock, reads the file and replaces it. If it is lost or damaged, every
failure counts as new again; nothing else depends on it.
"""

from __future__ import annotations

import json
import os

from handrail.app import App
from handrail.errors import StateError
from handrail.project import file_name
from handrail.state import files, locks

MOST = 10_000
"""So many ids are kept, those that were opened last."""
PATIENCE = 5.0


class Seen:
    """The ids that were opened in one project. `refresh` reads the file again if it changed."""

    def __init__(self, app: App) -> None:
        self.path = os.path.join(app.places.state, "seen", f"{file_name(app.project)}.json")
        self.clock = app.clock
        self.opened: dict[str, float] = {}
        self._mark: tuple[int, int, int] | None = None

    @property
    def is_stale(self) -> bool:
        """True if the file changed since it was read."""
        return self._now() != self._mark

    def _now(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return (found.st_ino, found.st_size, found.st_mtime_ns)

    def refresh(self) -> bool:
        """Read the file if it changed. True if it did."""
        mark = self._now()
        if mark == self._mark:
            return False
        before, self._mark, self.opened = self.opened, mark, self._read()
        return self.opened != before

    def mark(self, id_: str) -> None:
        """A person opened this: `run:ID` or `session:ID`."""
        self._change({id_: self.clock()})

    def unmark(self, id_: str) -> None:
        """It counts as not opened again."""
        self._change({id_: None})

    def _read(self) -> dict[str, float]:
        try:
            data = json.loads(files.read_regular(self.path))
            return {str(id_): float(at) for id_, at in data.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def _change(self, changes: dict[str, float | None]) -> None:
        with locks.locked(f"{self.path}.lock", PATIENCE, self._busy):
            known = self._read()
            for id_, at in changes.items():
                known.pop(id_, None)
                if at is not None:
                    known[id_] = at
            kept = dict(sorted(known.items(), key=lambda item: item[1])[-MOST:])
            files.replace(self.path, json.dumps(kept).encode(), durable=False)

    def _busy(self) -> StateError:
        return StateError(f"another process writes `{self.path}`", "try again")


def mark_seen(app: App, id_: str) -> None:
    """A person opened a row of home: `run:ID` or `session:ID`. A failure does not need them any more."""
    Seen(app).mark(id_)


def mark_unread(app: App, id_: str) -> None:
    """A row of home counts as not opened again."""
    Seen(app).unmark(id_)
