"""The story that most of the journal tests damage in some way."""

from __future__ import annotations

from pathlib import Path

import pytest

from guided.sessions.stories import Story, tell


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return tell(tmp_path / "session")
