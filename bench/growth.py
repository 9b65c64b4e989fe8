"""Measures whether a session gets slower as its journal grows: status and moves at four sizes, in turn."""

from __future__ import annotations

from pathlib import Path

from bench.measure import BenchError, Job, Sample, interleave, talk, timed
from bench.place import started
from bench.rows import Bound, Part, Row, slower
from handrail.base.jsonlite import encode_line
from handrail.guided.sessions.hook_files import CARD
from handrail.guided.sessions.machine import Command, Loop, Looped, Next, event_to_json
from handrail.guided.sessions.store import Session

SIZES = (10, 1_000, 10_000, 100_000)
READS, MOVES = 1_000, 250
FLAT = Bound(1.5)
ABOUT = """\
A session whose journal has this many records, with a fresh card. *Status* reads the state and the pinned plan; *next*
and *loop* are whole commands, including the record and its sync. The bound is on the longest journal: it has to be
almost as fast as the shortest. *For information*: the same without a card, so that the whole journal is folded."""


def measure(folder: Path) -> Part:
    sessions = {size: _grown(folder, size) for size in SIZES}
    reads: dict[str, Job] = {f"{size}": _status(session) for size, session in sessions.items()}
    status = interleave("status by size", reads, READS)
    nexts: dict[str, Job] = {f"next {size}": _command(session, Next("done")) for size, session in sessions.items()}
    loops: dict[str, Job] = {f"loop {size}": _command(session, Loop()) for size, session in sessions.items()}
    moves = interleave("next and loop by size", _in_pairs(nexts, loops), MOVES)
    rows = [
        *_compare("status", {size: status[f"{size}"] for size in SIZES}),
        *_compare("next", {size: moves[f"next {size}"] for size in SIZES}),
        *_compare("loop", {size: moves[f"loop {size}"] for size in SIZES}),
    ]
    return Part("Growth of the journal", ABOUT, [*rows, _lost(sessions[SIZES[-1]], status["10"])])


def _in_pairs(nexts: dict[str, Job], loops: dict[str, Job]) -> dict[str, Job]:
    """Each `next` before its `loop`, so that a session goes back and forth and never ends."""
    pairs = zip(nexts.items(), loops.items(), strict=True)
    return dict([item for pair in pairs for item in pair])


def _grown(folder: Path, size: int) -> Session:
    """A session with `size` records. All except the first and the last are written at once."""
    talk(f"a journal of {size} records")
    session = started(folder / f"grown-{size}", folder / "home")
    (first,) = session.records()
    events = [event_to_json(Looped(0, 0))]
    records = [{**first, "n": number, "events": events} for number in range(1, size - 1)]
    with open(session.journal, "ab") as file:
        file.write(b"".join(map(encode_line, records)))
    (Path(session.folder) / CARD).unlink()
    session.do(Loop())
    if session.read().number != size:
        raise BenchError(f"the journal has {session.read().number} records, expected {size}")
    return session


def _status(session: Session) -> Job:
    return lambda: timed(lambda: session.plan(session.read().state.plan))


def _command(session: Session, command: Command) -> Job:
    return lambda: timed(lambda: session.do(command))


def _compare(what: str, times: dict[int, Sample]) -> list[Row]:
    smallest, *larger = times
    return [
        slower(
            f"{what} at {size:,} records",
            f"{what} at {smallest} records",
            times[size],
            times[smallest],
            FLAT if size == SIZES[-1] else None,
        )
        for size in larger
    ]


def _lost(session: Session, small: Sample) -> Row:
    """Status without a card. It only reads, so no new card is written."""
    (Path(session.folder) / CARD).unlink()
    lost = interleave("status without a card", {"lost": _status(session)}, 3)["lost"]
    return slower(f"status at {SIZES[-1]:,} records, card lost", f"status at {SIZES[0]} records", lost, small)
