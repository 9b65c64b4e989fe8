"""Measures how long commands take, as a person types them, compared with starting Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from bench.measure import BenchError, Job, Sample, interleave, spawn
from bench.place import DENIED, environment, started
from bench.rows import Bound, Part, Row, slower

ROUNDS = 51
BOUND = Bound(4)
BOUNDS = {"`handrail sessions`": Bound(6), "`handrail list`": Bound(12)}
PYTHON = "`python -I -c pass`"
RUNS = 3
FLOW = "phases:\n- id: one\n  steps:\n  - id: only\n    node: set\n    params: {done: true}\n"
ABOUT = f"""\
The command `handrail` as it is installed, and `python -I -m handrail`, in a project with an active session and
{RUNS} runs; {ROUNDS} processes of each. `list` reads every definition."""


def measure(folder: Path) -> Part:
    project, env = folder / "project", environment(folder / "home")
    started(project, folder / "home")
    (project / ".handrail" / "flows").mkdir(parents=True)
    (project / ".handrail" / "flows" / "short.yaml").write_text(FLOW, encoding="utf-8")
    script = shutil.which("handrail", path=str(Path(sys.executable).parent))
    if script is None:
        raise BenchError("`handrail` is not installed beside this Python")
    at = ["--project", str(project)]
    for _ in range(RUNS):
        subprocess.run([script, *at, "run", "short", "-q"], env=env, stdout=subprocess.DEVNULL, check=True)
    lines = {
        "--help": ["--help"],
        "status": [*at, "status"],
        f"gate {DENIED}": [*at, "gate", DENIED],
        "runs": [*at, "runs"],
        "sessions": [*at, "sessions"],
        "list": [*at, "list"],
    }
    jobs: dict[str, Job] = {"python": lambda: spawn([sys.executable, "-I", "-c", "pass"], env)}
    for words, line in lines.items():
        jobs[f"`handrail {words}`"] = _start([script, *line], env)
        if f"`handrail {words}`" not in BOUNDS:
            jobs[f"`python -I -m handrail {words}`"] = _start([sys.executable, "-I", "-m", "handrail", *line], env)
    for job in jobs.values():
        job()
    times = interleave("starts", jobs, ROUNDS)
    return Part("Starting a command", ABOUT, [_row(what, times) for what in times if what != "python"])


def _start(argv: list[str], env: dict[str, str]) -> Job:
    return lambda: spawn(argv, env)


def _row(what: str, times: dict[str, Sample]) -> Row:
    return slower(what, PYTHON, times[what], times["python"], BOUNDS.get(what, BOUND))
