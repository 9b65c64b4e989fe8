"""A disk that is full or fails during a run: one clear message, no lost work, and the run can be resumed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from functools import partial

import pytest

from crash.accounts import life, none_of, problems, told
from crash.cases import Case
from crash.children.doom import Doom
from crash.conftest import Stage, Whole
from crash.flows import command, phase
from crash.lives import finish
from crash.pool import Pool
from depth import Depth
from support import Said

NOISE = "Unknown child process"
SLOW = "  - id: slow\n    node: wait\n    params: {seconds: 0.5}\n"
REASONS = ("No space left on device", "Input/output error", "File too large")


class Disk:
    """Drives runs on a failing disk, and resumes them on a working one."""

    def __init__(self, pool: Pool, stage: Stage, whole: Whole) -> None:
        self.pool = pool
        self.stage = stage
        self.whole = whole

    def survive(self, doom: Doom | None = None, room: int | None = None) -> tuple[int, list[str]]:
        """How often the disk ended the run (0 or 1), and what is wrong after the run was resumed and finished."""
        case = self.stage.case()
        how = "--events" if room is None else "--quiet"  # the size limit applies to its output too
        said = self.pool.run(case, "resume", how, "--answers", str(case.answers), doom=doom, room=room)
        left = life(case)
        safe = told(said.out) if room is None else []
        wrong = [
            f"it had printed this event, and the journal lost it: {event}" for event in safe if event not in left.events
        ]
        wrong += refused_badly(case, said) if said.code else []
        stuck = finish(case, partial(self.pool.run, case))
        wrong += [stuck] if stuck else problems(case, self.whole.wanted, self.whole.logged, [left])
        if not wrong:
            shutil.rmtree(case.folder)
        return int(said.code != 0), [f"{doom or room}: {problem}" for problem in wrong]

    def each(self, dooms: list[Doom]) -> tuple[int, list[str]]:
        return _sum(self.pool.each(self.survive, dooms))

    def cramped(self, rooms: Sequence[int]) -> tuple[int, list[str]]:
        return _sum(self.pool.each(lambda room: self.survive(room=room), rooms))


def _sum(ended: list[tuple[int, list[str]]]) -> tuple[int, list[str]]:
    return sum(count for count, _ in ended), [problem for _, found in ended for problem in found]


def refused_badly(case: Case, said: Said) -> list[str]:
    """What is wrong with the message about the failed disk: it has to be one sentence and a hint.

    If a file of the project could not be written, the message is about the failed step.
    """
    state = case.run.state
    first, *more = said.err.splitlines() or [""]
    is_clear = first.startswith("error: ") and first.endswith(REASONS) and "cannot be" in first
    is_short = all(line.startswith("hint: ") for line in more)
    is_told = state.status == "failed" and any(reason in (state.error or "") for reason in REASONS)
    is_well = (is_clear and is_short) or (is_told and "Traceback" not in said.err)
    return [] if said.code == 1 and is_well else [f"it ended with {said.code} and said: {said.err}"]


@pytest.fixture
def disk(pool: Pool, stage: Stage, whole: Whole) -> Disk:
    return Disk(pool, stage, whole)


@pytest.mark.explores
def test_no_work_is_lost_if_the_disk_is_full_from_any_record_on(disk: Disk, depth: Depth) -> None:
    places = depth.places(range(1, disk.whole.least + 1), every=4)
    count, wrong = disk.each([Doom("full", at) for at in places])
    none_of(wrong)
    assert count == len(places)


@pytest.mark.explores
def test_no_work_is_lost_if_the_disk_is_full_for_one_record(disk: Disk, depth: Depth) -> None:
    places = depth.places(range(1, disk.whole.least + 1), every=4, first=2)
    _, wrong = disk.each([Doom("full", at, times=1) for at in places])
    none_of(wrong)


@pytest.mark.explores
def test_no_work_is_lost_if_any_sync_fails(disk: Disk, depth: Depth) -> None:
    places = depth.places(range(1, disk.whole.syncs + 1), every=4)
    count, wrong = disk.each([Doom("failing", at, times=1) for at in places])
    none_of(wrong)
    assert count >= len(places) - 2


@pytest.mark.explores
def test_no_work_is_lost_if_all_syncs_from_any_one_on_fail(disk: Disk, depth: Depth) -> None:
    places = depth.places(range(1, disk.whole.syncs + 1, 3), every=4)
    count, wrong = disk.each([Doom("failing", at) for at in places])
    none_of(wrong)
    assert count == len(places)


@pytest.mark.explores
def test_a_file_size_limit_ends_the_run_and_loses_no_work(disk: Disk, depth: Depth) -> None:
    """The limit of the system: in turn the journal, a large result and a published file reach it."""
    rooms = depth.places(range(300, len(disk.whole.journal), len(disk.whole.journal) // 16), every=3)
    count, wrong = disk.cramped(rooms)
    none_of(wrong)
    assert count == len(rooms)


@pytest.mark.whole
def test_a_disk_error_is_reported_without_errors_about_processes(disk: Disk) -> None:
    """Programs of parallel steps are killed quietly, even while they are being started."""
    quick = "".join(f"  - {{id: q{n}, node: command, rerun: safe, params: {{argv: ['true']}}}}\n" for n in range(8))
    phases = f"- id: a\n  parallel: true\n  steps:\n{quick}  - {{id: s, node: set}}\n"

    def said(_: int) -> str:
        doom = Doom("full", event="NodeFinished", path="a/s")
        return disk.pool.run(disk.stage.small(phases), "resume", "--quiet", doom=doom).err

    noise = [line for err in disk.pool.each(said, range(40)) for line in err.splitlines() if line.startswith(NOISE)]
    assert noise == []


@pytest.mark.whole
def test_a_failed_background_write_prints_no_traceback(disk: Disk) -> None:
    case = disk.stage.small(phase("a", SLOW))
    said = disk.pool.run(case, "resume", "--quiet", doom=Doom("full", 1))
    none_of(refused_badly(case, said))
    assert finish(case, partial(disk.pool.run, case)) is None


def test_a_background_write_that_succeeds_on_retry_prints_nothing(disk: Disk) -> None:
    case = disk.stage.small(phase("a", SLOW))
    said = disk.pool.run(case, "resume", "--quiet", doom=Doom("full", 1, times=1))
    assert "Traceback" not in said.err
    assert finish(case, partial(disk.pool.run, case)) is None
    assert case.paths_of("StepDone") == ["a/slow"]


@pytest.mark.parametrize("doom", [Doom("full", times=1), Doom("failing", times=1)], ids=lambda doom: doom.how)
def test_a_node_does_not_start_if_its_start_cannot_be_recorded(disk: Disk, doom: Doom) -> None:
    """So nobody is asked about it, and it runs once."""
    case = disk.stage.small(phase("a", command("x", "say", "x", more="rerun: never")))
    said = disk.pool.run(case, "resume", "--quiet", doom=doom._replace(event="NodeStarted", path="a/x"))
    none_of(refused_badly(case, said))
    assert case.lines() == []
    assert disk.pool.run(case, "resume", "--quiet").code == 0
    assert case.logged() == {"a/x": 1}


def test_a_written_file_is_on_disk_before_the_journal_says_so(disk: Disk) -> None:
    """A finished step does not run again, so its file has to survive a power failure as its record does."""
    write = "  - id: w\n    node: write-file\n    params: {path: made.txt, text: hello}\n"
    case = disk.stage.small(phase("a", write))
    assert disk.pool.run(case, "resume", "--quiet").code == 0
    trace = json.loads((case.folder / "layer").read_text())["trace"]
    before = trace[: trace.index(["record", "NodeFinished", "a/w"])]
    assert [path for kind, path, _ in before if kind == "sync" and path.startswith(str(case.project))]


def test_a_failed_write_leaves_no_file_in_the_project(disk: Disk) -> None:
    write = f"  - id: w\n    node: write-file\n    params: {{path: made.txt, text: {'x' * 40_000}}}\n"
    case = disk.stage.small(phase("a", write))
    said = disk.pool.run(case, "resume", "--quiet", room=20_000)
    none_of(refused_badly(case, said))
    assert [path.name for path in case.project.iterdir()] == [".handrail"]
    assert disk.pool.run(case, "resume", "--quiet").code == 0
    assert (case.project / "made.txt").read_text() == "x" * 40_000
