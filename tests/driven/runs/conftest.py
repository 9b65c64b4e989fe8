"""Shared fixtures of the tests of runs: a project, and each engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.extensions import registry
from support import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project(tmp_path, monkeypatch, capsys)


@pytest.fixture(params=["embedded", "memory"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of an engine. The second one is registered with one row and nothing else."""
    monkeypatch.setitem(registry.ENGINES, "memory", "driven.runs.memory_engine")
    name: str = request.param
    return name
