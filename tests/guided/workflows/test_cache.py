"""The catalog's cache: faster the second time, with the same result."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from handrail.extensions.registry import Registry
from handrail.guided.workflows.catalog import Catalog, CatalogCache, read_catalog
from handrail.guided.workflows.spec import PhaseSpec

LATER = 60_000_000_000


class Place:
    """A folder of workflows, and a cache whose clock is one minute ahead, so that no file counts as just written."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "workflows"
        self.cache = folder / "cache"

    def write(self, key: str, body: str, *, more: str = "") -> Path:
        folder = self.root / key
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "workflow.yaml").write_text(f"name: {key}\nshow: workflows\n{more}phases: [a.md]\n")
        (folder / "a.md").write_text(f"---\nid: a\nname: A\nemoji: x\n---\n{body}\n")
        return folder / "a.md"

    def memory(self, ahead: int = LATER) -> CatalogCache:
        return CatalogCache(str(self.cache), lambda: time.time_ns() + ahead, Registry())

    def read(self, ahead: int = LATER) -> Catalog:
        memory = self.memory(ahead)
        catalog = read_catalog([("project", str(self.root))], Registry(), memory)
        memory.save()
        return catalog

    def remembers(self, key: str) -> bool:
        return self.memory().recall(str(self.root), str(self.root / key)) is not None


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def body(catalog: Catalog, key: str) -> str:
    phase = catalog.workflows[key].entries[0]
    assert isinstance(phase, PhaseSpec)
    return phase.instructions


def test_a_cached_workflow_equals_the_one_that_was_read(place: Place) -> None:
    place.write("w", "hello", more="loopable: false\nroleInstruction: R\n")
    cold = place.read()
    assert place.remembers("w")
    assert place.read() == cold


@pytest.mark.parametrize("number", ["30", "30.0", "1.50", "0x10", "007", "1e1"])
def test_numbers_of_exit_checks_are_cached_however_they_are_written(place: Place, number: str) -> None:
    path = place.write("w", "hello")
    path.write_text(path.read_text().replace("emoji: x", f"emoji: x\nexit:\n- run: 'true'\n  timeout: {number}"))
    cold = place.read()
    assert not cold.problems
    assert place.remembers("w")
    assert place.read() == cold


def test_a_cache_that_cannot_be_written_stops_nothing(place: Place) -> None:
    place.write("w", "hello")
    memory = place.memory()
    read_catalog([("project", str(place.root))], Registry(), memory)
    memory.rows[str(place.root)]["more"] = (object(),)
    memory.save()
    assert not place.remembers("w")


def test_an_edit_is_seen(place: Place) -> None:
    path = place.write("w", "hello")
    place.read()
    path.write_text(path.read_text().replace("hello", "other text"))
    assert body(place.read(), "w") == "other text"


def test_an_edit_with_the_same_size_and_a_restored_mtime_is_seen(place: Place) -> None:
    path = place.write("w", "hello")
    place.read()
    before = path.stat()
    path.write_text(path.read_text().replace("hello", "howdy"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert body(place.read(), "w") == "howdy"


def test_a_replaced_file_with_the_same_size_and_mtime_is_seen(place: Place) -> None:
    path = place.write("w", "hello")
    place.read()
    before = path.stat()
    other = path.with_name("b.md")
    other.write_text(path.read_text().replace("hello", "howdy"))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.rename(path)
    assert body(place.read(), "w") == "howdy"


def test_a_file_that_was_just_written_is_not_cached(place: Place) -> None:
    place.write("w", "hello")
    place.read(ahead=0)
    assert not place.remembers("w")


def test_a_workflow_with_problems_is_read_again_each_time(place: Place) -> None:
    place.write("w", "hello", more="unknown: 1\n")
    assert [p.code for p in place.read().problems] == ["unknown-key"]
    assert not place.remembers("w")
    assert [p.code for p in place.read().problems] == ["unknown-key"]


def test_a_removed_workflow_is_not_in_the_catalog(place: Place) -> None:
    path = place.write("w", "hello")
    place.read()
    for file in path.parent.iterdir():
        file.unlink()
    path.parent.rmdir()
    assert place.read().workflows == {}


def test_a_removed_phase_file_is_reported_as_missing(place: Place) -> None:
    path = place.write("w", "hello")
    place.read()
    path.unlink()
    assert [p.code for p in place.read().problems] == ["file-missing"]


def test_a_link_that_points_elsewhere_is_seen(place: Place, tmp_path: Path) -> None:
    path = place.write("w", "hello")
    target = path.rename(path.with_name("real.md"))
    path.symlink_to(target)
    assert not place.read().problems
    outside = tmp_path / "outside.md"
    outside.write_text(target.read_text())
    path.unlink()
    path.symlink_to(outside)
    assert [p.code for p in place.read().problems] == ["phase-unused", "path-escape"]


@pytest.mark.parametrize("damage", [b"", b"garbage", b"00000000\n{}", b"\x00" * 100])
def test_a_damaged_cache_changes_nothing(place: Place, damage: bytes) -> None:
    place.write("w", "hello")
    cold = place.read()
    for file in (place.cache / "catalog").iterdir():
        file.write_bytes(damage)
    assert place.read() == cold


def test_a_cache_that_cannot_be_written_raises_no_error(place: Place) -> None:
    place.write("w", "hello")
    place.cache.write_text("a file where the folder should be")
    assert body(place.read(), "w") == "hello"
