"""The shelf of a scope: every artifact that was published in it, with its digest, its lineage and its content.

The shelf is an append-only journal, and a folder with one file per content, named after its digest. A process reads
the journal once, and later only new records. `publish` returns after the data are on the disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from typing import Any

from handrail.artifacts.fingerprint import MAX_BYTES
from handrail.artifacts.names import artifact_id, is_key, parse_reference
from handrail.errors import StateError
from handrail.source.dataclasses import dataclass, fields
from handrail.state import files, journal, locks
from handrail.state.files import make_private
from handrail.state.regular import Unreadable, read_regular

LOCK_SECONDS = 30
_SPACE_HINT = "free some space, then run the command again; nothing was lost"


@dataclass(frozen=True, kw_only=True)
class Draft:
    """An artifact before it is published. `step` is the path of the step in its run."""

    scope: str
    key: str
    name: str
    path: str
    run: str
    step: str
    schema: str
    family: str
    created: float
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Published:
    """One version of an artifact. `path` is its path at that time; `inputs` are ids of artifacts, or paths."""

    id: str
    scope: str
    key: str
    version: int
    name: str
    path: str
    sha256: str
    size: int
    run: str
    step: str
    schema: str
    family: str
    created: float
    inputs: tuple[str, ...] = ()
    supersedes: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {name: list(value) if name == "inputs" else value for name, value in vars(self).items()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Published:
        known = {name: value for name, value in data.items() if name in {field.name for field in fields(cls)}}
        return cls(**{**known, "inputs": tuple(known.get("inputs", ()))})


class Shelf:
    """The published artifacts of one scope, in a folder outside the project."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.journal = os.path.join(folder, "journal")
        self._reset()

    def _reset(self) -> None:
        self._all: list[Published] = []
        self._versions: dict[tuple[str, int], Published] = {}
        self._latest: dict[str, Published] = {}
        self._at: dict[str, Published] = {}
        self._made: dict[tuple[str, str, str, str], Published] = {}
        self._last = self._end = 0

    def publish(self, draft: Draft, content: bytes, version: int = 1) -> Published:
        """Publish an artifact. If the same step of the same run published it before, return that record.

        `version` is the lowest number that it may get.
        """
        assert is_key(draft.key), draft.key
        sha256 = hashlib.sha256(content).hexdigest()
        with self._locked():
            self._catch_up()
            self._store(sha256, content)
            made = self._made.get((draft.run, draft.step, draft.key, sha256))
            if made is not None:
                return made
            record = self._next(draft, sha256, len(content), version)
            line = {"n": len(self._all), "t": draft.created, "artifact": record.to_json()}
            self._last, self._end = self._end, journal.append(self.journal, self._end, line)
            self._add(record)
            return record

    def _next(self, draft: Draft, sha256: str, size: int, least: int) -> Published:
        before = self._latest.get(draft.key)
        version = least if before is None else max(least, before.version + 1)
        return Published(
            id=artifact_id(draft.scope, draft.key, version),
            version=version,
            sha256=sha256,
            size=size,
            supersedes=None if before is None else before.id,
            **vars(draft),
        )

    def records(self) -> list[Published]:
        """All published artifacts, in order."""
        self._catch_up()
        return list(self._all)

    def latest(self, key: str) -> Published | None:
        self._catch_up()
        return self._latest.get(key)

    def at(self, path: str) -> Published | None:
        """The newest artifact that was published from a path."""
        self._catch_up()
        return self._at.get(path)

    def find(self, reference: str) -> Published | None:
        """The artifact for `SCOPE:KEY:vN`, `KEY@vN` or `KEY@latest`. None if there is none."""
        wanted = parse_reference(reference)
        if wanted is None:
            return None
        latest = self.latest(wanted.key)
        found = latest if wanted.version is None else self._versions.get((wanted.key, wanted.version))
        return found if found is not None and wanted.scope in (None, found.scope) else None

    def content(self, record: Published) -> bytes:
        """The content of an artifact when it was published. A link in its place is not followed."""
        path = self._content_path(record.sha256)
        try:
            data = read_regular(path, MAX_BYTES, follows=False)
        except Unreadable as error:
            hint = f"check `{path}`, or publish the artifact again"
            raise StateError(f"the content of `{record.id}` {error.message}", hint) from error
        if hashlib.sha256(data).hexdigest() != record.sha256:
            raise StateError(f"the content of `{record.id}` is damaged", f"remove `{path}` and publish it again")
        return data

    def _content_path(self, name: str) -> str:
        return os.path.join(self.folder, "content", name)

    def _catch_up(self) -> None:
        """Read new records of other processes. Read all records if the journal was replaced."""
        new = self._new_records()
        if new is None:
            self._reset()
            new = self._new_records() or []
        for record in new:
            self._add(record)

    def _new_records(self) -> list[Published] | None:
        """The records after the last known one. None if the last known one is gone."""
        known, start = self._all[-1:], self._last
        try:
            scan = journal.read(self.journal, start, len(self._all) - len(known))
            found = [Published.from_json(line["artifact"]) for line in scan.records]
        except (journal.JournalDamaged, KeyError, TypeError, AttributeError) as error:
            if known:
                return None
            hint = f"move `{self.folder}` away and publish again; the published files in the project are unchanged"
            raise StateError(f"the journal `{self.journal}` of published artifacts is damaged", hint) from error
        if found[: len(known)] != known:
            return None
        self._last, self._end = start + scan.last, start + scan.end
        return found[len(known) :]

    def _add(self, record: Published) -> None:
        self._all.append(record)
        self._versions[record.key, record.version] = self._latest[record.key] = self._at[record.path] = record
        self._made.setdefault((record.run, record.step, record.key, record.sha256), record)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Only one process at a time publishes on a shelf."""
        make_private(os.path.join(self.folder, "content"))
        with locks.locked(os.path.join(self.folder, "lock"), LOCK_SECONDS, self._busy):
            yield

    def _busy(self) -> StateError:
        return StateError(
            f"`{self.folder}` is locked by another process", "wait until it ends, then run the command again"
        )

    def _store(self, sha256: str, content: bytes) -> None:
        """Store content under its digest. The caller holds the lock, so an incomplete file is from a dead process."""
        place = self._content_path(sha256)
        with contextlib.suppress(OSError):
            known = os.lstat(place)
            if stat.S_ISREG(known.st_mode) and known.st_size == len(content):
                return
        try:
            files.write_whole(place, content, durable=True)
        except OSError as error:
            raise StateError(f"`{place}` cannot be written: {error.strerror}", _SPACE_HINT) from error


def files_in(folder: str) -> list[str]:
    """The names of the files in a folder. Empty if there is no folder."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if entry.is_file()]
    except OSError:
        return []
