"""The kept artifacts of one project: those of all scopes and all runs, including runs that `prune` removed."""

from __future__ import annotations

import os

from handrail.artifacts.shelf import Published, Shelf
from handrail.errors import NotFound, StateError
from handrail.project import file_name
from handrail.source.plain import some
from handrail.source.suggest import did_you_mean


class Kept:
    """The shelves in one folder, one per scope. `damaged` has the errors of the shelves that cannot be read."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.damaged: list[StateError] = []

    def records(self, run: str | None = None) -> list[Published]:
        """All artifacts, or those of one run, in the order in which they were published."""
        self.damaged = []
        found = [record for scope in self._scopes() for record in self._on(scope) if run in (None, record.run)]
        return sorted(found, key=lambda record: record.created)

    def run_named(self, name: str) -> str | None:
        """The id of a run that published something: this id, or the only one that begins like this."""
        runs = {record.run for record in self.records()}
        begins = [run for run in runs if run.startswith(name)]
        return name if name in runs else begins[0] if len(begins) == 1 else None

    def content(self, record: Published) -> bytes:
        """The content of an artifact when it was published."""
        return Shelf(self.folder_of(record.scope)).content(record)

    def folder_of(self, scope: str) -> str:
        """The folder of the shelf of one scope."""
        return os.path.join(self.folder, file_name(scope))

    def _scopes(self) -> list[str]:
        try:
            return sorted(os.listdir(self.folder))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StateError(f"`{self.folder}` cannot be read: {error.strerror}") from error

    def _on(self, scope: str) -> list[Published]:
        try:
            return Shelf(os.path.join(self.folder, scope)).records()
        except StateError as error:
            self.damaged.append(error)
            return []


def pick(records: list[Published], name: str) -> Published:
    """The artifact that a person names. The newest one wins. Raises `NotFound` if there is none."""
    found = named(records, name)
    if found is not None:
        return found
    paths = list(dict.fromkeys(record.path for record in records))
    hint = did_you_mean(name, paths) or f"its artifacts: {some(paths)}"
    raise NotFound(f"this run has no artifact `{name}`", hint)


def named(records: list[Published], name: str) -> Published | None:
    """The newest artifact with this id, `KEY@vN`, key, path or name; else the only path that ends with this name."""
    for record in reversed(records):
        names = {record.id, record.key, record.path, record.name, f"{record.key}@v{record.version}"}
        if name in names or name == f"{record.key}@latest":
            return record
    ends = [record for record in records if record.path.endswith(f"/{name}")]
    return ends[-1] if len({record.path for record in ends}) == 1 else None
