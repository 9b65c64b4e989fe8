"""Measures Handrail's own time per step of a large flow whose agent answers at once."""

from __future__ import annotations

import os
import statistics
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench import instant
from bench.flowplace import STEPS_A_PHASE, Flows, Phase, Watch
from bench.measure import BenchError, Sample, spawn, talk, timed
from bench.place import environment
from bench.rows import Bound, Part, slower
from handrail.extensions import registry

STEPS, BLOCK, FEW, AGENTS = 500, 25, 20, 5
NEAR = Bound(30)
ABOUT = f"""\
A flow of {STEPS} steps, each with a prompt for an agent that answers at once: its program is `/bin/sh`, which
prints one line. The run pauses after every {BLOCK} steps. During the pause, the same program is started alone
{AGENTS} times, and the records of such a run of {FEW} steps are written to an open file, each only with `pwrite`
and `fsync`. *Handrail's own time* is the time of a step minus that of the program alone. It includes what no bare
record has: a private folder for the agent, pipes, and the search of the system's processes for any that the agent
left behind. A step without an agent is under *Runs of flows*."""


def prompts(steps: int) -> list[Phase]:
    same = [{"id": f"s{n}", "node": f"{instant.NAME}-prompt", "prompt": "Go."} for n in range(STEPS_A_PHASE)]
    rounds = {"var": "round", "from": 1, "to": steps // STEPS_A_PHASE}
    return [{"repeat": rounds, "phases": [{"id": "p${round}", "steps": same}]}]


class _Between:
    """What is measured in the pauses: seconds of the agent alone, and seconds per step of its bare records."""

    def __init__(self, folder: Path, lines: list[bytes]) -> None:
        self.lines, self.env = lines, environment(folder)
        self.prompt, self.end = folder / "prompt", 0
        self.prompt.write_text("Go.\n", encoding="utf-8")
        self.handle = os.open(folder / "bare-large", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        self.agents: list[float] = []
        self.bare: list[float] = []

    def __call__(self) -> None:
        alone = [spawn(list(instant.ARGV), self.env, str(self.prompt)) for _ in range(AGENTS)]
        self.agents.append(statistics.median(alone))
        self.bare.append(timed(self._write) / FEW)

    def _write(self) -> None:
        for line in self.lines:
            os.pwrite(self.handle, line, self.end)
            os.fsync(self.handle)
            self.end += len(line)


def measure(folder: Path) -> Part:
    registry.AGENTS[instant.NAME] = {"executor": instant.__name__}
    try:
        flows = Flows(folder / "large", {"few": prompts(FEW), "large": prompts(STEPS)})
        between = _Between(folder, flows.run("few").lines)
        talk(f"{STEPS} steps with an agent that answers at once")
        with ThreadPoolExecutor(1) as aside:
            pause = Watch(lambda done: aside.submit(between).result() if done % BLOCK == 0 else None)
            steps = flows.run("large", pause).watch.steps
    finally:
        del registry.AGENTS[instant.NAME]
    os.close(between.handle)
    if len(steps) != STEPS:
        raise BenchError(f"{len(steps)} steps were done, expected {STEPS}")
    blocks = [statistics.median(steps[at : at + BLOCK]) for at in range(0, STEPS, BLOCK)]
    own = [block - alone for block, alone in zip(blocks, between.agents, strict=True)]
    half = len(blocks) // 2
    rows = [
        slower(
            "Handrail's own time of a step with an agent",
            "its records, appended and synced",
            Sample(tuple(own)),
            Sample(tuple(between.bare)),
            NEAR,
        ),
        slower(
            f"a step with an agent, after the first {STEPS // 2}",
            "one before them",
            Sample(tuple(blocks[half:])),
            Sample(tuple(blocks[:half])),
            Bound(1.5),
        ),
        slower("a step with an agent", "the agent alone", Sample(tuple(blocks)), Sample(tuple(between.agents))),
    ]
    return Part("A large flow with an agent", ABOUT, rows)
