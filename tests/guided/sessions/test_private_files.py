"""Only the owner can read the files of a session, with any umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from guided.sessions.stories import PROJECT, go_on, open_session, start
from handrail.guided.sessions.hook_files import SessionRef
from handrail.guided.sessions.store import fork_session


@pytest.fixture(params=[0o000, 0o022], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("umask")
def test_every_file_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "project" / "session"
    session = open_session(folder)
    start(session)
    with open(session.journal, "ab") as file:
        file.write(b"torn")
    go_on(session)
    names = {path.name.split("-")[0] for path in folder.iterdir()}
    assert names >= {"card", "journal", "journal.torn", "lock", "plan"}
    assert {mode(path) for path in folder.iterdir()} == {0o600}


@pytest.mark.usefixtures("umask")
def test_every_file_of_a_forked_session_is_private(tmp_path: Path) -> None:
    start(open_session(tmp_path / "first"))
    parent, child = (
        SessionRef(str(tmp_path / name), PROJECT, name, str(tmp_path / "links" / name)) for name in ("first", "second")
    )
    fork_session(parent, child)
    assert {mode(path) for path in (tmp_path / "second").iterdir()} == {0o600}
    assert open_session(tmp_path / "second").read().state == open_session(tmp_path / "first").read().state


@pytest.mark.usefixtures("umask")
def test_every_created_folder_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "project" / "session"
    start(open_session(folder))
    assert [mode(path) for path in (folder, *list(folder.parents)[:2])] == [0o700] * 3
