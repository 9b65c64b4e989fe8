"""Remembers healthy workflows between starts, by the stamps of every file they were read from.

Never wrong: an entry is used only while every file is the same file, of the same size, unchanged; files that
were touched a moment ago are not remembered at all. Deleted or damaged, it costs time and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from handrail import __version__, registry
from handrail.source import fields, given, kinds, simpleyaml, yamltree
from handrail.source import files as sourcefile
from handrail.source.files import Stamp
from handrail.state.files import write_whole
from handrail.workflows import exits, placeholders, rules, spec
from handrail.workflows import load as loading
from handrail.workflows.load import Loaded
from handrail.workflows.plan import Check
from handrail.workflows.spec import Entry, LaterEntries, PhaseSpec, Reference, WorkflowSpec

FRESH_NS = 1_000_000_000


@dataclass(frozen=True)
class Row:
    """One workflow as it is kept: the names of its files, their stamps in one list, its head and its entries."""

    names: list[str]
    stamps: list[int]
    head: dict[str, Any]
    references: list[list[Any]]
    phases: int
    entries: bytes


class CatalogCache:
    """What was read before, in one file a place that definitions are read from."""

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
                if [now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns] != stamps[place : place + 5]:
                    return None
                place += 5
        except OSError:
            return None
        return _spec(row)

    def store(self, root: str, folder: str, loaded: Loaded) -> None:
        """Remember a workflow that has no problems and whose files have settled."""
        known = self.known.setdefault(root, {})
        self.changed.add(root)
        known.pop(folder, None)
        stamps = list(loaded.stamps.values())
        if loaded.spec is not None and not loaded.problems and self._settled(stamps):
            below = folder + "/"
            names = [path.removeprefix(below) for path in loaded.stamps]
            flat = [number for stamp in stamps if stamp is not None for number in vars(stamp).values()]
            known[folder] = _row(loaded.spec, names, flat)

    def _settled(self, stamps: list[Stamp | None]) -> bool:
        limit = self.now_ns() - FRESH_NS
        return all(stamp is not None and max(stamp.modified, stamp.changed) < limit for stamp in stamps)

    def save(self) -> None:
        """Write what changed. A cache that cannot be written is no reason to fail."""
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
        body = json.dumps({"root": root, "version": _version(), "rows": heads}, separators=(",", ":"))
        data = b"\n".join([body.encode(), *[row.entries for row in rows.values()]])
        write_whole(self._file(root), b"%08x\n%s" % (zlib.crc32(data), data), durable=False)

    def _read(self, root: str) -> dict[str, Row]:
        """What is kept of a place; nothing where it is damaged, of another version, or not there."""
        try:
            with open(self._file(root), "rb") as file:
                head, data = file.read(9), file.read()
            if head != b"%08x\n" % zlib.crc32(data):
                return {}
            first, *entries = data.split(b"\n")
            kept = json.loads(first)
            if kept["root"] != root or kept["version"] != _version():
                return {}
            rows = zip(kept["rows"].items(), entries, strict=True)
            return {folder: _kept(row, body) for (folder, row), body in rows}
        except (OSError, ValueError, KeyError, TypeError):
            return {}


def _kept(row: list[Any], entries: bytes) -> Row:
    names, stamps, head, references, phases = row
    return Row(names, stamps, head, references, phases, entries)


def _version() -> str:
    """Changes whenever the code that reads definitions does."""
    readers = (loading, exits, spec, rules, placeholders, fields, given, kinds, sourcefile, simpleyaml, yamltree)
    times = [os.stat(module.__file__ or "").st_mtime_ns for module in readers]
    return f"{__version__}/{max(times)}/{_checks()}"


def _checks() -> str:
    """Changes whenever a kind of check is added or one of ours is changed."""
    with os.scandir(os.path.join(os.path.dirname(registry.__file__), "checks")) as entries:
        newest = max(entry.stat().st_mtime_ns for entry in entries if entry.name.endswith(".py"))
    return f"{zlib.crc32(repr(registry.CHECKS).encode()):08x}/{newest}"


def _row(workflow: WorkflowSpec, names: list[str], stamps: list[int]) -> Row:
    entries = [["ref" if isinstance(e, Reference) else "phase", vars(e)] for e in workflow.entries]
    head = {name: value for name, value in vars(workflow).items() if name != "entries"}
    references = [list(vars(ref).values()) for ref in workflow.references]
    return Row(names, stamps, head, references, len(entries), json.dumps(entries).encode())


def _spec(row: Row) -> WorkflowSpec:
    references = [Reference(*ref) for ref in row.references]
    later = LaterEntries(row.phases, references, lambda: _entries(row.entries))
    return WorkflowSpec(**row.head, entries=later)


def _entries(data: bytes) -> tuple[Entry, ...]:
    return tuple(Reference(**row) if kind == "ref" else _phase(row) for kind, row in json.loads(data))


def _phase(row: dict[str, Any]) -> PhaseSpec:
    lists = {name: None if row[name] is None else tuple(row[name]) for name in ("deny", "allow", "profiles")}
    return PhaseSpec(**{**row, **lists, "exit": tuple([Check(*check) for check in row["exit"]])})
