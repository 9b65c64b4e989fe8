"""The `scene` fixture: a project in which every flow of AgentWeaver can run to its end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentweaver.scene import Scene, services
from support import Project


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Scene]:
    with services() as webs:
        yield Scene(Project(tmp_path, monkeypatch, capsys), webs, monkeypatch)
