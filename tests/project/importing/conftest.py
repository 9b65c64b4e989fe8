"""The fixtures `project` and `home` of the tests of imports."""

from pathlib import Path

import pytest

from support import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project(tmp_path, monkeypatch, capsys)


@pytest.fixture
def home(project: Project) -> Path:
    """The folder of AgentWeaver in the user's home."""
    path = project.folder.parent / "user" / ".agentweaver"
    path.mkdir(parents=True)
    return path
