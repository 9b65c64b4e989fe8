"""Fixtures of the tests of worktrees."""

from __future__ import annotations

from pathlib import Path

import pytest

from driven.worktrees.grounds import Ground
from support import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project(Path(tmp_path).resolve(), monkeypatch, capsys)


@pytest.fixture
def ground(project: Project, monkeypatch: pytest.MonkeyPatch) -> Ground:
    return Ground(project, monkeypatch)
