"""Measures a step of a flow on the embedded engine, and how a run grows with its steps, its nesting and a resume."""

from __future__ import annotations

from pathlib import Path

from bench import resume
from bench.flowplace import Flows, Phase, many
from bench.flowsteps import BARE, HOLD, LONG, Steps
from bench.measure import Sample, talk
from bench.rows import Bound, Part, Row, Table, slower

SIZES = (10, 100, 1_000, LONG)
DEPTH, BOTTOM_STEPS, KILOBYTE = 10, 5, "y" * 1024
NEAR, FLAT, LINEAR = Bound(1.5), Bound(1.5), Bound(3)
RECORD = "the same bytes, appended and synced"
ELSEWHERE = "AgentWeaver, measured elsewhere"
AGENTWEAVER_STEPS = {
    10: ("6,000", "1.1"),
    100: ("46,000", "1.3"),
    1_000: ("454,000", "3.5"),
    3_000: ("1,400,000", "11.4"),
}
AGENTWEAVER_DEPTHS = (12, 27, 60, 131, 285, 616, 1_324, 2_830, 6_026, 12_784, 27_032)
ABOUT = f"""\
Runs of flows whose steps do nothing (node `set`, a result of 20 characters, ten steps per phase), on the embedded
engine and through the same calls as `handrail run`. A run of {LONG:,} steps pauses after every {HOLD} steps. During
each pause, runs of 10, 100 and 1,000 steps are run, and {BARE} records of such a run are written to an open file, each
only with `pwrite` and `fsync`. *A durable step* is compared with the records of its own run: right after each run, the
same records are written in that way. *A step* lasts from the end of one step to the end of the next, without reading
the flow. *The whole command* includes everything from the call to its return. *Nested*: {BOTTOM_STEPS} steps with a
result of 1 KB each, inside this many nested flows; all files of the run are counted, with a copy of all flow texts.
*Resumed*: a run whose last step failed, from the call until that step starts again, without reading the flow; the
journal is read, and it supplies the results of all finished steps."""


def measure(folder: Path) -> Part:
    nested = {"d0": [_bottom()], **{f"d{n}": [_runs(f"d{n - 1}.json")] for n in range(1, DEPTH + 1)}}
    flows = Flows(folder / "flows", {**{f"n{size}": many(size) for size in SIZES}, **nested})
    steps = Steps(flows, folder)
    thousand = steps.runs[1_000]
    ours, bare = zip(*steps.pairs, strict=True)
    whole, alone = ([ran.whole for ran in thousand], [ran.watch.seconds for ran in thousand])
    rows = [
        slower("a durable step", RECORD, Sample(tuple(ours)), Sample(tuple(bare)), NEAR),
        slower(f"a step of {LONG:,}, after the first {LONG // 2:,}", "a step of 100", steps.late, steps.short, FLAT),
        slower("the whole command, 1,000 steps", "its steps alone", Sample(tuple(whole)), Sample(tuple(alone))),
    ]
    nesting, by_depth = _nesting(flows)
    rows += [nesting, *resume.rows(folder / "resume", steps.every)]
    return Part("Runs of flows", ABOUT, rows, (_by_size(steps), by_depth))


def _by_size(steps: Steps) -> Table:
    head = ["Steps", "Journal, bytes per step", "Time per step, 100 steps = 1", f"Bytes written per step, {ELSEWHERE}"]
    lines = []
    for size in sorted({*SIZES, *AGENTWEAVER_STEPS}):
        mine = ["-", "-"]
        if size in SIZES:
            mine = [f"{steps.bytes(size):.0f}", f"{steps.seconds(size) / steps.seconds(100):.2f}"]
        lines.append([f"{size:,}", *mine, *AGENTWEAVER_STEPS.get(size, ("-", "-"))])
    return Table(
        "Steps; the time is the total time of a run divided by its steps", [*head, f"ms per step, {ELSEWHERE}"], lines
    )


def _bottom() -> Phase:
    same = [{"id": f"s{n}", "node": "set", "params": {"value": {"const": KILOBYTE}}} for n in range(BOTTOM_STEPS)]
    return {"id": "bottom", "steps": same}


def _runs(file: str) -> Phase:
    return {"id": "call", "steps": [{"id": "flow", "node": "flow-run", "params": {"fileName": {"const": file}}}]}


def _nesting(flows: Flows) -> tuple[Row, Table]:
    talk(f"nested flows, {DEPTH} deep")
    sizes = [flows.run(f"d{depth}").size for depth in range(DEPTH + 1)]
    what = f"files of a run, flows nested {DEPTH} deep"
    head = ["Flows nested", "Files of the run, KB", f"State file, KB, {ELSEWHERE}"]
    lines = [
        [f"{depth}", f"{size / 1024:.1f}", f"{theirs:,}"]
        for depth, (size, theirs) in enumerate(zip(sizes, AGENTWEAVER_DEPTHS, strict=True))
    ]
    row = Row(what, "the same, nested once", sizes[DEPTH] / sizes[1], bound=LINEAR)
    return row, Table("Nested flows", head, lines)
