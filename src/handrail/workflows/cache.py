"""Caches workflows without problems between starts, keyed by the stamps of all their files.

An entry is used only if every file has the same identity, size and times as before. Workflows with files that
changed less than a second ago are not cached. Deleting or damaging the cache costs only time.
"""

from __future__ import annotations

import contextlib
import os
import zlib

from handrail import __version__, registry
from handrail.source.record import Record
from handrail.state import jsonlite
from handrail.state.files import write_whole
from handrail.workflows.plan import ExitCheck
from handrail.workflows.spec import Entry, LazyEntries, PhaseSpec, Reference, WorkflowSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from handrail.workflows.load import Loaded

FRESH_NS = 1_000_000_000


class Row(Record):
    """One cached workflow: its file names, their stamps in one flat list, its head fields and its entries."""

    names: list[str]
    stamps: list[int]
    head: dict[str, Any]
    references: list[list[Any]]
    phases: int
    entries: bytes


class CatalogCache:
    """Workflows that were read before, in one cache file per definitions root."""

    def __init__(self, folder: str, now_ns: Callable[[], int]) -> None:
        self.folder = os.path.join(folder, "catalog")
        self.now_ns = now_ns
        self.known: dict[str, dict[str, Row]] = {}
        self.changed: set[str] = set()

    def recall(self, root: str, folder: str) -> WorkflowSpec | None:
        if root not in self.known:
            self.known[root] = self._read(root)
        row = self.known[root].get(folder)
        if row is None:
            return None
        stamps, place = row.stamps, 0
        try:
            for name in row.names:
                now = os.stat(name if name[0] == "/" else f"{folder}/{name}")
                if numbers(now) != stamps[place : place + 5]:
                    return None
                place += 5
        except OSError:
            return None
        return _spec_from_row(row)

    def store(self, root: str, folder: str, loaded: Loaded) -> None:
        """Cache a workflow if it has no problems and none of its files changed just now."""
        known = self.known.setdefault(root, {})
        self.changed.add(root)
        known.pop(folder, None)
        stamps = list(loaded.stamps.values())
        if loaded.spec is not None and not loaded.problems and self._are_settled(stamps):
            below = folder + "/"
            names = [path.removeprefix(below) for path in loaded.stamps]
            flat = [number for stamp in stamps if stamp is not None for number in numbers(stamp)]
            known[folder] = _row_from_spec(loaded.spec, names, flat)

    def _are_settled(self, stamps: list[os.stat_result | None]) -> bool:
        limit = self.now_ns() - FRESH_NS
        return all(stamp is not None and max(stamp.st_mtime_ns, stamp.st_ctime_ns) < limit for stamp in stamps)

    def save(self) -> None:
        """Write the changed roots. An error while writing is ignored."""
        for root in self.changed:
            with contextlib.suppress(OSError):
                self._write(root)
        self.changed.clear()

    def _file(self, root: str) -> str:
        return os.path.join(self.folder, f"{zlib.crc32(root.encode('utf-8', 'surrogateescape')):08x}.json")

    def _write(self, root: str) -> None:
        os.makedirs(self.folder, 0o700, exist_ok=True)
        rows = self.known[root]
        heads = {folder: [row.names, row.stamps, row.head, row.references, row.phases] for folder, row in rows.items()}
        body = jsonlite.dumps({"root": root, "version": _version(), "rows": heads})
        data = b"\n".join([body.encode(), *[row.entries for row in rows.values()]])
        write_whole(self._file(root), b"%08x\n%s" % (zlib.crc32(data), data), durable=False)

    def _read(self, root: str) -> dict[str, Row]:
        """The cached rows of a root; empty if the file is missing, damaged or from another version."""
        try:
            with open(self._file(root), "rb") as file:
                head, data = file.read(9), file.read()
            if head != b"%08x\n" % zlib.crc32(data):
                return {}
            first, *entries = data.split(b"\n")
            kept = jsonlite.loads(first.decode())
            if kept["root"] != root or kept["version"] != _version():
                return {}
            rows = zip(kept["rows"].items(), entries, strict=True)
            return {folder: _row_from_json(row, body) for (folder, row), body in rows}
        except (OSError, ValueError, KeyError, TypeError):
            return {}


def _row_from_json(row: list[Any], entries: bytes) -> Row:
    names, stamps, head, references, phases = row
    return Row(names, stamps, head, references, phases, entries)


def numbers(stamp: os.stat_result) -> list[int]:
    """What tells two states of a file apart without reading it."""
    return [stamp.st_dev, stamp.st_ino, stamp.st_size, stamp.st_mtime_ns, stamp.st_ctime_ns]


def _version() -> str:
    """A key that changes whenever the code that reads definitions, or a kind of check, changes."""
    package = os.path.dirname(os.path.dirname(registry.__file__))
    newest = 0
    for room in ("checks", "source", "workflows"):
        with os.scandir(os.path.join(package, room)) as entries:
            newest = max([newest, *(e.stat().st_mtime_ns for e in entries if e.name.endswith(".py"))])
    return f"{__version__}/{newest}/{zlib.crc32(registry.version().encode()):08x}"


def _row_from_spec(workflow: WorkflowSpec, names: list[str], stamps: list[int]) -> Row:
    entries = [["ref" if isinstance(e, Reference) else "phase", e._asdict()] for e in workflow.entries]
    head = {name: value for name, value in workflow._asdict().items() if name != "entries"}
    references = [list(ref) for ref in workflow.references]
    return Row(names, stamps, head, references, len(entries), jsonlite.dumps(entries).encode())


def _spec_from_row(row: Row) -> WorkflowSpec:
    references = [Reference(*ref) for ref in row.references]
    entries = LazyEntries(row.phases, references, lambda: _entries(row.entries))
    return WorkflowSpec(**row.head, entries=entries)


def _entries(data: bytes) -> tuple[Entry, ...]:
    return tuple(Reference(**row) if kind == "ref" else _phase(row) for kind, row in jsonlite.loads(data.decode()))


def _phase(row: dict[str, Any]) -> PhaseSpec:
    lists = {
        name: None if row[name] is None else tuple(row[name])
        for name in ("deny", "allow", "profiles", "exit_lines", "guidance")
    }
    return PhaseSpec(**{**row, **lists, "exit": tuple([ExitCheck(*check) for check in row["exit"]])})
