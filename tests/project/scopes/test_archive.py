"""The archive of a scope: everything is in it, nothing is lost at a kill, and it can be restored."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.base.errors import NotFound, RefusedError, StateError
from handrail.project import scope_archives

CHILD = Path(__file__).parent / "children" / "killed.py"


@pytest.fixture
def scope(tmp_path: Path) -> Path:
    """A scope with files in its workspace and in `.artifacts`, and a link."""
    folder = tmp_path / "scopes" / "k"
    for name in ("plan-k-1.md", "notes/a.txt", ".artifacts/plan-k-1.json", ".artifacts/manifest-history/x.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name, encoding="utf-8")
    (folder / "link").symlink_to("/etc/passwd")
    return folder


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or path.is_file()}


def test_everything_is_in_the_archive_in_agentweavers_form(scope: Path) -> None:
    path = Path(scope_archives.archive_folder(str(scope)))
    assert path == scope / ".artifacts" / "restart-archives" / "attempt-0001"
    inside = {"workspace/plan-k-1.md", "workspace/notes/a.txt", "workspace/link"}
    assert names(path) == inside | {"artifacts/plan-k-1.json", "artifacts/manifest-history/x.json"}
    assert os.readlink(path / "workspace" / "link") == "/etc/passwd"
    assert scope_archives.contents(str(scope)) == []
    assert [entry.name for entry in scope.parent.iterdir()] == ["k"]


def test_numbers_go_on_and_older_archives_stay(scope: Path) -> None:
    (scope / ".artifacts/restart-archives/attempt-0041/workspace").mkdir(parents=True)
    (scope / ".artifacts/restart-archives/attempt-0041/workspace/old.md").write_text("old")
    assert scope_archives.archive_folder(str(scope)).endswith("attempt-0042")
    assert [os.path.basename(path) for path in scope_archives.attempts(str(scope))] == ["attempt-0041", "attempt-0042"]
    assert (scope / ".artifacts/restart-archives/attempt-0041/workspace/old.md").read_text() == "old"


def test_a_restored_scope_is_as_it_was_and_the_archive_is_not_shared_with_it(scope: Path) -> None:
    before, time = names(scope), (scope / "plan-k-1.md").stat().st_mtime_ns
    scope_archives.archive_folder(str(scope))
    path = Path(scope_archives.restore_folder(str(scope), "1"))
    assert {name for name in names(scope) if "restart-archives" not in name} == before
    assert (scope / "plan-k-1.md").stat().st_mtime_ns == time
    with (scope / "plan-k-1.md").open("a") as file:
        file.write("changed in place")
    assert (path / "workspace" / "plan-k-1.md").read_text() == "plan-k-1.md"


def test_a_scope_with_files_is_not_overwritten_by_a_restore(scope: Path) -> None:
    scope_archives.archive_folder(str(scope))
    (scope / "new.md").write_text("new")
    with pytest.raises(RefusedError, match="not empty"):
        scope_archives.restore_folder(str(scope), "0001")
    with pytest.raises(NotFound, match="no archive `7`"):
        scope_archives.restore_folder(str(scope), "7")


@pytest.mark.parametrize("inner", [".", ".artifacts"])
def test_a_link_in_place_of_a_folder_is_left_alone(scope: Path, tmp_path: Path, inner: str) -> None:
    real = tmp_path / "elsewhere"
    (scope / inner).rename(real)
    (scope / inner).symlink_to(real)
    with pytest.raises(RefusedError, match="is a link"):
        scope_archives.archive_folder(str(scope))
    assert real.is_dir()


def test_if_the_archive_cannot_be_written_nothing_has_changed(scope: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    before = names(scope)
    monkeypatch.setattr(os, "link", full)
    monkeypatch.setattr(shutil, "copy2", full)
    with pytest.raises(StateError, match="No space left"):
        scope_archives.archive_folder(str(scope))
    assert names(scope) == before
    assert [entry.name for entry in scope.parent.iterdir()] == ["k"]


@pytest.mark.whole
@pytest.mark.parametrize("way", ["exchange", "no-exchange"])
def test_a_kill_leaves_the_old_state_or_the_archive(tmp_path: Path, way: str) -> None:
    """Before `settle`, a system without exchange may have no folder for a moment; after it, there always is one."""
    argv = [sys.executable, str(CHILD), str(tmp_path), way]
    said = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=True).stdout.splitlines()
    whole, *places = map(json.loads, said)
    assert whole["before"] != whole["after"]
    assert len(places) > 8
    states = {whole["before"], whole["after"]}
    for at, left, settled, beside in places:
        assert left in states or (left is None and way == "no-exchange"), at
        assert (settled in states, beside) == (True, []), at
    assert {settled for _, _, settled, _ in places} == states
    assert (None in [left for _, left, _, _ in places]) == (way == "no-exchange")
