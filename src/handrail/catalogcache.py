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
from typing import Any

from handrail import __version__
from handrail.guided import load as loading
from handrail.guided import prompts, rules, spec
from handrail.guided.load import Loaded
from handrail.guided.spec import CheckSpec, PhaseSpec, Reference, WorkflowSpec
from handrail.sourcefile import Stamp

FRESH_NS = 1_000_000_000


class CatalogCache:
    """What was read before, in one file a place that definitions are read from."""

    def __init__(self, folder: str, now_ns: Callable[[], int]) -> None:
        self.folder = os.path.join(folder, "catalog")
        self.now_ns = now_ns
        self.known: dict[str, dict[str, Any]] = {}
        self.changed: set[str] = set()

    def recall(self, root: str, folder: str) -> WorkflowSpec | None:
        if root not in self.known:
            self.known[root] = self._read(root)
        row = self.known[root].get(folder)
        if row is None:
            return None
        try:
            for path, stamp in row[0]:
                status = os.stat(path)
                if [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns] != stamp:
                    return None
            return _spec(row[1])
        except (OSError, ValueError, TypeError, IndexError, KeyError):
            return None

    def store(self, root: str, folder: str, loaded: Loaded) -> None:
        """Remember a workflow that has no problems and whose files have settled."""
        self.known.setdefault(root, {}).pop(folder, None)
        self.changed.add(root)
        if loaded.spec is None or loaded.problems or not self._settled(list(loaded.stamps.values())):
            return
        stamps = [[path, list(stamp)] for path, stamp in loaded.stamps.items() if stamp is not None]
        self.known[root][folder] = [stamps, _row(loaded.spec)]

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
        return os.path.join(self.folder, f"{zlib.crc32(root.encode()):08x}.json")

    def _write(self, root: str) -> None:
        os.makedirs(self.folder, 0o700, exist_ok=True)
        body = json.dumps({"root": root, "version": _version(), "entries": self.known[root]}, separators=(",", ":"))
        data = body.encode("utf-8", "surrogatepass")
        new = f"{self._file(root)}.{os.getpid()}.new"
        with open(new, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(b"%08x\n%s" % (zlib.crc32(data), data))
        os.replace(new, self._file(root))

    def _read(self, root: str) -> dict[str, Any]:
        try:
            with open(self._file(root), "rb") as file:
                head, data = file.read(9), file.read()
            if head != b"%08x\n" % zlib.crc32(data):
                return {}
            kept = json.loads(data.decode("utf-8", "surrogatepass"))
            fits = kept["root"] == root and kept["version"] == _version()
        except (OSError, ValueError, KeyError, TypeError):
            return {}
        entries: dict[str, Any] = kept["entries"] if fits else {}
        return entries


def _version() -> str:
    """Changes whenever the code that reads definitions does."""
    times = [os.stat(module.__file__ or "").st_mtime_ns for module in (loading, spec, rules, prompts)]
    return f"{__version__}/{max(times)}"


def _row(workflow: WorkflowSpec) -> list[Any]:
    entries = [["ref", *e] if isinstance(e, Reference) else ["phase", *e] for e in workflow.entries]
    return [*workflow._replace(entries=())[:7], entries, *workflow[8:]]


def _spec(row: list[Any]) -> WorkflowSpec:
    entries = tuple(Reference(*e[1:]) if e[0] == "ref" else _phase(e[1:]) for e in row[7])
    return WorkflowSpec._make([*row[:7], entries, *row[8:]])


def _phase(row: list[Any]) -> PhaseSpec:
    id_, name, emoji, instructions, deny, allow, profiles, checks, file = row
    return PhaseSpec(
        id_,
        name,
        emoji,
        instructions,
        None if deny is None else tuple(deny),
        None if allow is None else tuple(allow),
        tuple(profiles),
        tuple([CheckSpec(*check) for check in checks]),
        file,
    )
