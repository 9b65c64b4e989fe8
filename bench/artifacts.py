"""Measures whether publishing gets slower as a scope grows: a growing scope and new scopes, in turn.

Then the same in flows whose steps make files: a long run pauses, and a short run is run meanwhile.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from bench.flowplace import STEPS_A_PHASE, Flows, Phase, Watch, many
from bench.measure import BenchError, Job, Sample, talk, timed
from bench.rows import Bound, Part, Row, Table, slower
from handrail.driven.artifacts.project_files import Publisher
from handrail.extensions.contracts import PromisedFile

COUNT, NEW_AFTER, ROUNDS = 1_000, 10, 10
HOLD = 50
SIZES = (10, 100, COUNT)
KILOBYTE = 1024
FLAT = Bound(1.5)
FULL, NEW, BARE = "full", "new", "bare"
FIRST = "one in a scope of at most 10"
AGENTWEAVER = {10: 8, 50: 12, 200: 62, 500: 233}
ABOUT = f"""\
{COUNT:,} Markdown files of 1 KB are published into one scope, one after the other; each has the one before it as
input. In turn with that, the same files are published into scopes that are replaced after {NEW_AFTER} files, and
the same bytes are only written and synced: a new file under its final name, its folder, and a record at the end of
a journal. *In a new process*: the first publish there, which reads what the scope has. *In a flow*: {COUNT:,} steps
that each write and publish a file of 1 KB; the run pauses after every {HOLD} steps, and a flow of 10 such steps is
run meanwhile."""


def makes(steps: int) -> list[Phase]:
    """Phases of ten steps that each write a file, which is published."""
    files = [f"made/${{round}}-{n}.md" for n in range(STEPS_A_PHASE)]
    same = [
        {"id": f"s{n}", "node": "write-file", "params": {"path": file, "text": "x" * KILOBYTE}, "makes": [file]}
        for n, file in enumerate(files)
    ]
    rounds = {"var": "round", "from": 1, "to": steps // STEPS_A_PHASE}
    return [{"repeat": rounds, "phases": [{"id": "p${round}", "steps": same}]}]


class _Place:
    """A project with files to publish, and runs in scopes that publish them."""

    def __init__(self, folder: Path) -> None:
        self.flows = Flows(folder, {"flow": many(10), "short": makes(10), "long": makes(COUNT)})
        self.project = self.flows.project
        self.files = [self._write(number) for number in range(COUNT + ROUNDS)]

    def _write(self, number: int) -> str:
        name = f"note-{number}-of.md"
        (self.project / name).write_text(f"# Note {number}\n".ljust(KILOBYTE, "x"), encoding="utf-8")
        return name

    def publisher(self, scope: str) -> Publisher:
        """The publisher of a new run in this scope."""
        runs, run = self.flows.app.runs, self.flows.begin("flow", scope)
        return runs.publisher(runs.outside(run).context)

    def publish(self, publisher: Publisher, number: int) -> float:
        made, inputs = PromisedFile(self.files[number], None, None, True), self.files[max(0, number - 1) : number]
        return timed(lambda: publisher.publish(made, f"p/s{number}", inputs))


class _Bare:
    """Writes the same bytes to disk with as few calls as possible."""

    def __init__(self, folder: Path, record: bytes) -> None:
        self.folder, self.record, self.end = folder, record, 0
        folder.mkdir()
        self.handle = os.open(folder / "journal", os.O_RDWR | os.O_CREAT, 0o600)

    def put(self, source: Path) -> float:
        content = source.read_bytes()
        return timed(lambda: self._put(source.name, content))

    def _put(self, name: str, content: bytes) -> None:
        file = os.open(self.folder / "new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(file, content)
        os.fsync(file)
        os.close(file)
        os.replace(self.folder / "new", self.folder / name)
        above = os.open(self.folder, os.O_RDONLY)
        os.fsync(above)
        os.close(above)
        os.pwrite(self.handle, self.record, self.end)
        os.fsync(self.handle)
        self.end += len(self.record)


def measure(folder: Path) -> Part:
    talk(f"publishing {COUNT} artifacts")
    place = _Place(folder / "artifacts")
    full, new = place.publisher("full"), place.publisher("new")
    place.publish(new, 0)
    bare = _Bare(folder / "bare-artifacts", Path(new.shelf.journal).read_bytes())
    times: dict[str, list[float]] = {FULL: [], NEW: [], BARE: []}
    for number in range(COUNT):
        if number % NEW_AFTER == 0:
            new = place.publisher(f"new-{number}")
        jobs: dict[str, Job] = {
            FULL: partial(place.publish, full, number),
            NEW: partial(place.publish, new, number),
            BARE: partial(bare.put, place.project / place.files[number]),
        }
        turn = number % len(jobs)
        for name in [*list(jobs)[turn:], *list(jobs)[:turn]]:
            times[name].append(jobs[name]())
    os.close(bare.handle)
    if (found := len(full.shelf.records())) != COUNT:
        raise BenchError(f"{found} artifacts were published, expected {COUNT}")
    return Part("Publishing artifacts", ABOUT, _rows(place, times), (_table(times[FULL], times[NEW]),))


def _rows(place: _Place, times: dict[str, list[float]]) -> list[Row]:
    late = slice(int(COUNT * 0.8), COUNT)
    full, new, bare = (_sample(times[name][late]) for name in (FULL, NEW, BARE))
    firsts, others = [], []
    for number in range(COUNT, COUNT + ROUNDS):
        firsts.append(place.publish(place.publisher("full"), number))
        others.append(place.publish(place.publisher(f"other-{number}"), number))
    what = f"a publish in a scope of {late.start} to {COUNT:,}"
    hundred = slice(80, 100)
    return [
        slower(
            "a publish in a scope of 80 to 100",
            FIRST,
            _sample(times[FULL][hundred]),
            _sample(times[NEW][hundred]),
            FLAT,
        ),
        slower(what, FIRST, full, new, FLAT),
        _in_flows(place.flows),
        slower(what, "the same bytes, written and synced", full, bare),
        slower(f"the same of {COUNT:,}, in a new process", "in a new scope", _sample(firsts), _sample(others)),
    ]


def _in_flows(flows: Flows) -> Row:
    """A step that makes a file in the second half of a long run, compared with such a step of short runs meanwhile."""
    talk(f"a flow that publishes {COUNT} artifacts")
    short: list[float] = []

    def beside() -> None:
        short.extend(flows.drive(flows.begin("short", f"beside-{len(short)}"), "completed").watch.steps[1:])

    with ThreadPoolExecutor(1) as aside:
        pause = Watch(lambda done: aside.submit(beside).result() if done % HOLD == 0 else None)
        steps = flows.drive(flows.begin("long", "beside"), "completed", pause).watch.steps
    late, others = steps[COUNT // 2 :], short[len(short) // 2 :]
    what = f"in a flow, a step after {COUNT // 2} of {COUNT:,}"
    return slower(what, "a step of a flow of 10", _sample(late), _sample(others), FLAT)


def _table(long: list[float], short: list[float]) -> Table:
    lines = []
    for size in sorted({*SIZES, *AGENTWEAVER}):
        window = slice(int(size * 0.8) if size > NEW_AFTER else 0, size)
        ratio = _sample(long[window]).median / _sample(short[window]).median
        lines.append([f"{size:,}", f"{ratio:.2f}", f"{AGENTWEAVER.get(size, '-')}"])
    head = [
        "Artifacts in the scope",
        f"Time per publish, {FIRST} = 1",
        "ms per publish, AgentWeaver, measured elsewhere",
    ]
    return Table("Artifacts", head, lines)


def _sample(times: list[float]) -> Sample:
    return Sample(tuple(times))
