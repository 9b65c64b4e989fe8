"""Fixtures: a forge, and a project with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from builtin.forge import Forge
from builtin.gitlabs import GitLab
from steps.services.web import serve
from support import Project


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[Forge]:
    made = Forge(tmp_path)
    with serve(made.answer) as web:
        made.web = web
        yield made


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project(tmp_path, monkeypatch, capsys)


@pytest.fixture
def gitlab(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitLab]:
    made = GitLab()
    with serve(made.answer) as web:
        made.web = web
        monkeypatch.setenv("GITLAB_BASE_URL", web.url)
        monkeypatch.setenv("GITLAB_TOKEN", "token")
        yield made
