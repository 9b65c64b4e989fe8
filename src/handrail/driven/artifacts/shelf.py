"""The shelf of a scope: every artifact that was published in it, with its digest, its lineage and its content.

The shelf is an append-only journal, and a folder with one file per content, named after its digest. A process reads
the journal once, and later only new records. `publish` returns after the data are on the disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from typing import Any

from handrail.base import files, journal, locks
from handrail.base.dataclasses import dataclass, fields, replace
from handrail.base.errors import NotFound, StateError
from handrail.base.files import Unreadable, make_private, read_limited
from handrail.base.jsonlite import encode_line
from handrail.driven.artifacts.names import artifact_id, is_key
from handrail.settings.folders import file_name
from handrail.source.plain_text import some
from handrail.source.suggestions import did_you_mean

MAX_ARTIFACT_BYTES = 64 * 1024 * 1024
"""Larger files are not published."""
LOCK_SECONDS = 30
TICK = 20_000_000
"""In nanoseconds. File systems do not measure time more finely: two writes within one tick may look like one."""


def fingerprint(path: str) -> str | None:
    """Differs after each write to a settled file, even if the same content is written again. None if there is none."""
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return None
    return f"{info.st_ino} {info.st_mtime_ns} {digest_of_file(path)}"


async def wait_for_tick(path: str) -> None:
    """Wait a tick if the file was written within the last one, so that its next write gets another time."""
    try:
        age = time.time_ns() - os.stat(path).st_mtime_ns
    except (OSError, ValueError):
        return
    if 0 <= age < TICK:
        import asyncio

        await asyncio.sleep(TICK / 1e9)


def digest_of_file(path: str) -> str | None:
    try:
        return hashlib.sha256(read_limited(path, MAX_ARTIFACT_BYTES)).hexdigest()
    except Unreadable:
        return None


@dataclass(frozen=True, kw_only=True)
class ArtifactVersion:
    """One version of an artifact, or a draft of one: the shelf gives it an id, a version, a digest and a size.

    `path` is its path at that time, `inputs` are ids of artifacts or paths, and `step` is the path of its step.
    """

    id: str = ""
    scope: str
    key: str
    version: int = 0
    name: str
    path: str
    sha256: str = ""
    size: int = 0
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
    def from_json(cls, data: dict[str, Any]) -> ArtifactVersion:
        values = {field.name: data[field.name] for field in fields(cls) if field.name in data}
        return cls(**{**values, "inputs": tuple(values.get("inputs", ()))})


class Shelf:
    """The published artifacts of one scope, in a folder outside the project."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.journal = os.path.join(folder, "journal")
        self._reset()

    def _reset(self) -> None:
        self._all: list[ArtifactVersion] = []
        self._latest: dict[str, ArtifactVersion] = {}
        self._by_path: dict[str, ArtifactVersion] = {}
        self._by_step: dict[tuple[str, str, str, str], ArtifactVersion] = {}
        self._last = self._end = 0

    def publish(self, draft: ArtifactVersion, content: bytes, version: int = 1) -> ArtifactVersion:
        """Publish an artifact. If the same step of the same run published it before, return that record.

        `version` is the lowest number that it may get.
        """
        assert is_key(draft.key), draft.key
        sha256 = hashlib.sha256(content).hexdigest()
        make_private(os.path.join(self.folder, "content"))
        busy = f"`{self.folder}` is locked by another process", "wait until it ends, then run the command again"
        with locks.locked(os.path.join(self.folder, "lock"), LOCK_SECONDS, lambda: StateError(*busy)):
            self._catch_up()
            self._store(sha256, content)
            if (record := self._by_step.get((draft.run, draft.step, draft.key, sha256))) is not None:
                return record
            if (previous := self._latest.get(draft.key)) is not None:
                draft, version = replace(draft, supersedes=previous.id), max(version, previous.version + 1)
            id_ = artifact_id(draft.scope, draft.key, version)
            record = replace(draft, id=id_, version=version, sha256=sha256, size=len(content))
            line = encode_line({"n": len(self._all), "t": draft.created, "artifact": record.to_json()})
            self._last, self._end = self._end, journal.append(self.journal, self._end, line)
            self._add(record)
            return record

    def records(self) -> list[ArtifactVersion]:
        self._catch_up()
        return list(self._all)

    def published(self, draft: ArtifactVersion, sha256: str) -> ArtifactVersion | None:
        """The record of the same artifact with this digest, if the same step of the same run published it."""
        self._catch_up()
        return self._by_step.get((draft.run, draft.step, draft.key, sha256))

    def at(self, path: str) -> ArtifactVersion | None:
        self._catch_up()
        return self._by_path.get(path)

    def find(self, id_: str) -> ArtifactVersion | None:
        return next((record for record in self.records() if record.id == id_), None)

    def content(self, record: ArtifactVersion) -> bytes:
        """The content of an artifact when it was published. A link in its place is not followed."""
        path = os.path.join(self.folder, "content", record.sha256)
        try:
            data = read_limited(path, MAX_ARTIFACT_BYTES, follows=False)
        except Unreadable as error:
            hint = f"check `{path}`, or publish the artifact again"
            raise StateError(f"the content of `{record.id}` {error.message}", hint) from error
        if hashlib.sha256(data).hexdigest() != record.sha256:
            raise StateError(f"the content of `{record.id}` is damaged", f"remove `{path}` and publish it again")
        return data

    def _catch_up(self) -> None:
        """Read new records of other processes. Read all records if the journal was replaced."""
        new = self._new_records()
        if new is None:
            self._reset()
            new = self._new_records() or []
        for record in new:
            self._add(record)

    def _new_records(self) -> list[ArtifactVersion] | None:
        """The records after the last known one. None if the last known one is gone."""
        last_known, start = self._all[-1:], self._last
        try:
            scan = journal.read(self.journal, start, len(self._all) - len(last_known))
            records = [ArtifactVersion.from_json(line["artifact"]) for line in scan.records]
        except (journal.JournalDamaged, KeyError, TypeError, AttributeError) as error:
            if last_known:
                return None
            hint = f"move `{self.folder}` away and publish again; the published files in the project are unchanged"
            raise StateError(f"the journal `{self.journal}` of published artifacts is damaged", hint) from error
        if records[: len(last_known)] != last_known:
            return None
        self._last, self._end = start + scan.last, start + scan.end
        return records[len(last_known) :]

    def _add(self, record: ArtifactVersion) -> None:
        self._all.append(record)
        self._latest[record.key] = self._by_path[record.path] = record
        self._by_step.setdefault((record.run, record.step, record.key, record.sha256), record)

    def _store(self, sha256: str, content: bytes) -> None:
        """Store content under its digest. The caller holds the lock, so an incomplete file is from a dead process."""
        place = os.path.join(self.folder, "content", sha256)
        with contextlib.suppress(OSError):
            info = os.lstat(place)
            if stat.S_ISREG(info.st_mode) and info.st_size == len(content):
                return
        try:
            files.write_whole(place, content, durable=True)
        except OSError as error:
            message = f"`{place}` cannot be written: {error.strerror}"
            raise StateError(message, files.way_out(place, error)) from error


def files_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if entry.is_file()]
    except OSError:
        return []


class Shelves:
    """The shelves in one folder, one per scope. `errors` has the errors of the shelves that cannot be read."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.errors: list[StateError] = []

    def records(self, run: str | None = None) -> list[ArtifactVersion]:
        """All artifacts, or those of one run, in the order in which they were published."""
        self.errors = []
        try:
            scopes = sorted(os.listdir(self.folder))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StateError(f"`{self.folder}` cannot be read: {error.strerror}") from error
        records: list[ArtifactVersion] = []
        for scope in scopes:
            try:
                records += Shelf(os.path.join(self.folder, scope)).records()
            except StateError as error:
                self.errors.append(error)
        return sorted((record for record in records if run in (None, record.run)), key=lambda record: record.created)

    def run_named(self, name: str) -> str | None:
        """The id of a run that published something: this id, or the only one that begins like this."""
        runs = {record.run for record in self.records()}
        begins = [run for run in runs if run.startswith(name)]
        return name if name in runs else begins[0] if len(begins) == 1 else None

    def content(self, record: ArtifactVersion) -> bytes:
        """The content of an artifact when it was published."""
        return Shelf(self.folder_of(record.scope)).content(record)

    def folder_of(self, scope: str) -> str:
        return os.path.join(self.folder, file_name(scope))


def pick_artifact(records: list[ArtifactVersion], name: str) -> ArtifactVersion:
    """The artifact that a person names. The newest one wins. Raises `NotFound` if there is none."""
    record = artifact_named(records, name)
    if record is not None:
        return record
    paths = list(dict.fromkeys(record.path for record in records))
    hint = did_you_mean(name, paths) or f"its artifacts: {some(paths)}"
    raise NotFound(f"this run has no artifact `{name}`", hint)


def artifact_named(records: list[ArtifactVersion], name: str) -> ArtifactVersion | None:
    """The newest artifact with this id, `KEY@vN`, key, path or name; else the only path that ends with this name."""
    for record in reversed(records):
        names = {record.id, record.key, record.path, record.name, f"{record.key}@v{record.version}"}
        if name in names or name == f"{record.key}@latest":
            return record
    ends = [record for record in records if record.path.endswith(f"/{name}")]
    return ends[-1] if len({record.path for record in ends}) == 1 else None
