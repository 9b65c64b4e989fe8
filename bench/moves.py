"""Measures a move of a session, and its context text."""

from __future__ import annotations

import os
from pathlib import Path

from bench.loading import probe
from bench.measure import Job, Sample, interleave, talk, timed
from bench.piworkflows import NAME, Missing, PiWorkflows
from bench.place import KEY, TASK, started, write_catalog
from bench.rows import Part, Row, skipped, slower
from handrail.guided.sessions.machine import Loop
from handrail.guided.sessions.store import Session

ROUNDS = 500
CONTEXT_ROUNDS = 5
RECORD = "the same bytes, appended and synced"
CONTEXT, CHARS = "context text of one of 6 phases, time", "context text of one of 6 phases, characters"
ABOUT = f"""\
A move is `loop`: lock, read, decide, append the record, sync it to disk, write the card; {ROUNDS} of them, in turn with
only appending and syncing the same bytes to an open file in the same folder. The context text is what an agent gets in
a phase: for both sides the best of 7 times 1000 calls in a new process. By then node has compiled its side to machine
code; a process that builds one text does not have that advantage."""


def measure(folder: Path, pi: PiWorkflows | Missing) -> Part:
    return Part("Moves and context texts", ABOUT, [_move(folder), *_context(folder, pi)])


def _move(folder: Path) -> Row:
    session = started(folder / "moves", folder / "home")
    session.do(Loop())
    line = _last_line(session)
    handle = os.open(os.path.join(session.folder, "bare"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def append() -> None:
        os.write(handle, line)
        os.fsync(handle)

    jobs: dict[str, Job] = {"move": lambda: timed(lambda: session.do(Loop())), "bare": lambda: timed(append)}
    try:
        times = interleave("moves", jobs, ROUNDS)
    finally:
        os.close(handle)
    return slower("a move", RECORD, times["move"], times["bare"])


def _last_line(session: Session) -> bytes:
    return Path(session.journal).read_bytes().splitlines(keepends=True)[-1]


def _context(folder: Path, pi: PiWorkflows | Missing) -> list[Row]:
    if isinstance(pi, Missing):
        return [skipped(what, NAME, None, pi.why) for what in (CONTEXT, CHARS)]
    talk("context texts")
    project = folder / "contexts"
    root = write_catalog(project, 1)
    pairs = [(probe("context", str(root), KEY, TASK), pi.context(project)) for _ in range(CONTEXT_ROUNDS)]
    mine, other = (Sample(tuple(pair[side]["us"] for pair in pairs)) for side in (0, 1))
    chars = pairs[0][0]["chars"] / pairs[0][1]["chars"]
    return [slower(CONTEXT, NAME, mine, other), Row(CHARS, NAME, chars, chars)]
