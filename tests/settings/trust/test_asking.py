"""At a terminal, a person is asked whether a project is trusted, before anything of it is run."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from collections.abc import Iterator

import pytest

from settings.trust.clones import by_a_person, fired, is_trusted
from support import Project

HANDRAIL = os.path.join(os.path.dirname(sys.executable), "handrail")
WAIT = 60


class Terminal:
    """A command at a terminal."""

    def __init__(self, *argv: str) -> None:
        self.screen, inside = pty.openpty()
        self.child = subprocess.Popen(
            [HANDRAIL, *argv], stdin=inside, stdout=inside, stderr=inside, start_new_session=True
        )
        os.close(inside)
        self.seen = ""

    def see(self, text: str) -> None:
        while text not in self.seen:
            ready, _, _ = select.select([self.screen], [], [], WAIT)
            assert ready, self.seen
            try:
                data = os.read(self.screen, 4096)
            except OSError:
                data = b""
            assert data, self.seen
            self.seen += data.decode("utf-8", "replace")

    def answer(self, text: str) -> int:
        self.see("[y/N]")
        os.write(self.screen, text.encode() + b"\n")
        return self.end()

    def end(self) -> int:
        while True:
            ready, _, _ = select.select([self.screen], [], [], WAIT)
            assert ready, self.seen
            try:
                data = os.read(self.screen, 4096)
            except OSError:
                break
            if not data:
                break
            self.seen += data.decode("utf-8", "replace")
        return self.child.wait(WAIT)


@pytest.fixture
def at_terminal() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.child.kill()
        terminal.child.wait(WAIT)
        os.close(terminal.screen)


@pytest.mark.whole
@by_a_person
def test_at_a_terminal_a_person_is_asked_once(cloned: Project, at_terminal: list[Terminal]) -> None:
    at_terminal.append(Terminal("run", "wired"))
    assert at_terminal[0].answer("n") == 4
    assert f"Nobody has trusted `{cloned.folder}` yet. It would run:" in at_terminal[0].seen
    assert "wired/x runs `touch wire` (.handrail/flows/wired.yaml:4)" in at_terminal[0].seen
    assert not is_trusted(cloned)
    at_terminal.append(Terminal("start", "evil", "x"))
    assert at_terminal[1].answer("y") == 0
    assert is_trusted(cloned)
    at_terminal.append(Terminal("run", "wired"))
    assert at_terminal[2].end() == 0
    assert "[y/N]" not in at_terminal[2].seen
    assert fired(cloned)


@by_a_person
def test_resume_is_asked_for_too(cloned: Project, at_terminal: list[Terminal]) -> None:
    run = cloned.json("run", "asks", "--trust", code=4)["run"]
    at_terminal.append(Terminal("resume", run))
    assert at_terminal[0].answer("n") == 4
    assert not fired(cloned)
