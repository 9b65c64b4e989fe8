"""Every shipped flow that a person can run is killed in the middle, and resumed to its end."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from agentweaver.scene import KEY, Scene
from agentweaver.test_flows import CASES, Case
from crash.children.doom import Doom
from crash.pool import Pool

VISIBLE = [*(case for case in CASES if not case.is_hidden), Case("check-loop", words=("test -e fixed",))]
SYNCS = 12
"""After how many syncs the process is killed: in the middle of most flows."""


class Command(NamedTuple):
    """A command for a driver: `id` is the word after the verb."""

    id: str
    folder: Path
    project: Path
    env: dict[str, str]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    made = Pool(1)
    yield made
    made.close()


@pytest.mark.whole(23)
@pytest.mark.parametrize("case", VISIBLE, ids=[case.flow for case in VISIBLE])
def test_a_killed_flow_is_resumed_to_its_end(scene: Scene, pool: Pool, case: Case) -> None:
    scene.has(*case.has)
    scene.project.write("answers.json", json.dumps(scene.answers))
    told = ("--scope", KEY, "--agent", "scripted", "--answers", "answers.json")
    command = Command(case.flow, scene.project.folder.parent, scene.project.folder, dict(os.environ))
    said = pool.run(command, "run", *case.words, *told, doom=Doom("synced", SYNCS))
    assert said.code == -signal.SIGKILL, said
    run = scene.project.json("runs")["runs"][0]
    assert run["status"] != "completed"
    ended = scene.project.json("resume", run["run"], "--answers", "answers.json")
    assert (ended["status"], ended["outcome"]) == ("completed", "success"), ended
    assert case.makes is None or scene.file(case.makes).is_file()
    assert len(scene.messages) == len(set(scene.messages))
