"""Measures lists of many past runs, and what it costs to follow a run in which nothing happens."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from bench.measure import BenchError, Job, Sample, interleave, spawn, talk
from bench.place import ROOT, environment
from bench.rows import Bound, Part, Row, slower
from handrail.settings.folders import UserFolders

sys.path.append(str(ROOT / "tests"))

from copied_runs import copy_run

FEW, MANY, STEPS = 10, 1_000, 100
ROUNDS = 21
LISTED = Bound(10)
SECONDS = 10.0
IDLE = Bound(0.02)
ABOUT = f"""\
`handrail runs` in a project with {MANY:,} past runs of {STEPS} steps, compared with {FEW} of them. `handrail log
--follow` on a run that waits: the share of one processor that it uses in {SECONDS:g} seconds."""
WAITS = "phases:\n- {id: a, steps: [{id: x, node: wait, params: {seconds: 600}}]}\n"


def measure(folder: Path) -> Part:
    script = shutil.which("handrail", path=str(Path(sys.executable).parent))
    if script is None:
        raise BenchError("`handrail` is not installed beside this Python")
    jobs: dict[str, Job] = {}
    for count in (FEW, MANY):
        talk(f"{count} past runs")
        project, env = folder / f"past-{count}", environment(folder / "home")
        _past_runs(script, project, env, count)
        jobs[f"{count}"] = _list([script, "--project", str(project), "runs"], env)
    for job in jobs.values():
        job()  # writes the summaries that the copies do not have
    times = interleave("lists of runs", jobs, ROUNDS)
    rows = [_row(times), _idle(script, folder / f"past-{FEW}", environment(folder / "home"))]
    return Part("History", ABOUT, rows)


def _row(times: dict[str, Sample]) -> Row:
    what, against = f"`handrail runs` with {MANY:,} runs", f"with {FEW} runs"
    return slower(what, against, times[f"{MANY}"], times[f"{FEW}"], LISTED)


def _list(argv: list[str], env: dict[str, str]) -> Job:
    return lambda: spawn(argv, env)


def _past_runs(script: str, project: Path, env: dict[str, str], count: int) -> None:
    """One run of many steps, and copies of it."""
    flows = project / ".handrail" / "flows"
    flows.mkdir(parents=True)
    steps = "".join(f"  - {{id: s{n}, node: set, params: {{n: {n}}}}}\n" for n in range(STEPS))
    (flows / "many.yaml").write_text(f"phases:\n- id: a\n  steps:\n{steps}", encoding="utf-8")
    (flows / "waits.yaml").write_text(WAITS, encoding="utf-8")
    at = [script, "--project", str(project)]
    subprocess.run([*at, "run", "many", "-q"], env=env, stdout=subprocess.DEVNULL, check=True)
    runs = Path(UserFolders(env).runs(os.path.realpath(project)))
    (first,) = runs.glob("r-*")
    for number in range(1, count):
        copy_run(first, f"r-{number:06d}")


def _idle(script: str, project: Path, env: dict[str, str]) -> Row:
    at = [script, "--project", str(project)]
    subprocess.run([*at, "run", "waits", "--detach", "-q"], env=env, stdout=subprocess.DEVNULL, check=True)
    follower = subprocess.Popen([*at, "log", "last", "--follow"], env=env, stdout=subprocess.DEVNULL)
    try:
        time.sleep(1)  # its start is not counted
        before = _used(follower.pid)
        time.sleep(SECONDS)
        share = (_used(follower.pid) - before) / SECONDS
    finally:
        follower.kill()
        follower.wait()
        subprocess.run([*at, "stop", "last"], env=env, stdout=subprocess.DEVNULL, check=True)
    return Row("`handrail log --follow` of an idle run", "one processor", share, share, IDLE)


def _used(pid: int) -> float:
    """The processor time of a process, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
