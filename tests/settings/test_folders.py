"""Which folder is the project."""

from __future__ import annotations

import subprocess
from pathlib import Path

from handrail.settings.folders import checkout, find_root


def test_an_empty_git_folder_marks_no_project(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    inner = tmp_path / "inner"
    inner.mkdir()
    assert find_root(str(inner)) == str(inner)
    assert checkout(str(inner)) is None


def test_a_repository_marks_a_project(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    found = checkout(str(inner))
    assert (find_root(str(inner)), found and found.top) == (str(tmp_path), str(tmp_path))


def test_a_file_instead_of_the_git_folder_marks_a_project(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: elsewhere\n")
    (tmp_path / "inner").mkdir()
    assert find_root(str(tmp_path / "inner")) == str(tmp_path)
