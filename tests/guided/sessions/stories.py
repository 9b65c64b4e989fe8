"""A session on disk with a journal of several real records, and the state after each of them."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import NamedTuple

from guided.sessions.definitions import phase, plan, workflow
from handrail.guided.sessions.hook_files import SessionRef
from handrail.guided.sessions.machine import AgentStopped, Cancel, Command, Loop, Next, Start, Started, State
from handrail.guided.sessions.store import Session
from handrail.guided.workflows.plan import Plan

ID, PROJECT = "s-1", "/some/project"
SUMMARY = "wrote ½ of it\nand \N{SNOWMAN} \ud83d"
COMMANDS: tuple[Command, ...] = (Next(SUMMARY), Loop(), Cancel(), Next("on"), AgentStopped(), Loop(), Next("last"))


def three_phases() -> Plan:
    return plan(workflow("top", phase("a"), phase("b"), phase("c")))


def open_session(folder: Path, first_tick: int = 1_000) -> Session:
    """A session whose clock advances by one at every call."""
    return Session(SessionRef(str(folder), PROJECT, ID), map(float, itertools.count(first_tick)).__next__)


def start(session: Session, task: str = "task") -> State:
    return session.do(Start(Started(session.pin(three_phases()), task, "wf-1-aaaaaa", 1.0))).after


def go_on(session: Session) -> State:
    """Send one more command that adds one record in any state."""
    if session.read().state.is_active:
        return session.do(Loop()).after
    return start(session)


class Story(NamedTuple):
    """What was written. `states[n]` and `cards[n]` are those after n records; there is no card before the first."""

    folder: Path
    lines: list[bytes]
    states: list[State]
    cards: list[bytes]

    @property
    def data(self) -> bytes:
        return b"".join(self.lines)

    def boundary(self, records: int) -> int:
        """The offset at which the first `records` records end."""
        return sum(map(len, self.lines[:records]))

    def whole_records(self, size: int) -> int:
        """The number of complete records in the first `size` bytes."""
        return sum(self.boundary(count) <= size for count in range(1, len(self.lines) + 1))

    def lay(self, journal: bytes, card: bytes | None) -> Session:
        """The session with these bytes as its journal and card."""
        (self.folder / "journal").write_bytes(journal)
        (self.folder / "journal.torn").unlink(missing_ok=True)
        if card is None:
            (self.folder / "card").unlink(missing_ok=True)
        else:
            (self.folder / "card").write_bytes(card)
        return open_session(self.folder, 5_000)

    def journal(self) -> bytes:
        return (self.folder / "journal").read_bytes()

    def torn(self) -> bytes | None:
        path = self.folder / "journal.torn"
        return path.read_bytes() if path.exists() else None


def tell(folder: Path, task: str = "task", commands: tuple[Command, ...] = COMMANDS) -> Story:
    """A session with one record per command, including the start."""
    session = open_session(folder)
    states, cards, sizes = [State()], [b""], [0]
    for command in (None, *commands):
        states.append(start(session, task) if command is None else session.do(command).after)
        cards.append((folder / "card").read_bytes())
        sizes.append(os.path.getsize(session.journal))
    data = (folder / "journal").read_bytes()
    lines = [data[begin:end] for begin, end in itertools.pairwise(sizes)]
    return Story(folder, lines, states, cards)
