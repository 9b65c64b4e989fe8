"""The `project` fixture of the story tests."""

from pathlib import Path

import pytest

from settings.trust.clones import clone_of
from support import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project(tmp_path, monkeypatch, capsys)


@pytest.fixture
def cloned(project: Project) -> Project:
    """A project that nobody has trusted, with a workflow and flows that start programs."""
    return clone_of(project)
