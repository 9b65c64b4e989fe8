"""`run --from PHASE` behind and inside a repeat: what is about rounds that were left out is not looked at."""

from __future__ import annotations

import pytest

from support import Project

FLOW = """phases:
- repeat: {var: i, max: 3, until: '${steps.poll.look.outputs.result.ready}'}
  phases:
  - id: poll-${i}
    steps:
    - {id: look, node: command, params: {argv: [/bin/sh, -c, 'echo x >> log; cat answer']}}
- id: deep
  steps:
  - {id: x, node: set}
"""


@pytest.fixture
def polling(project: Project) -> Project:
    project.write(".handrail/flows/f.yaml", FLOW)
    project.write("answer", '{"ready": false}')
    return project


def statuses(data: dict[str, object]) -> list[str]:
    phases = data["phases"]
    assert isinstance(phases, list)
    return [phase["status"] for phase in phases]


def test_a_run_may_start_behind_a_repeat(polling: Project) -> None:
    ended = polling.json("run", "f", "--from", "deep")
    assert statuses(ended) == ["skipped", "skipped", "skipped", "done"]
    again = polling.json("restart", ended["run"], "--from", "deep")
    assert statuses(again) == ["skipped", "skipped", "skipped", "done"]
    assert polling.json("run", "f", "--from", "deep", "--dry-run")["ok"]


def test_a_run_may_start_inside_a_repeat(polling: Project) -> None:
    polling.write("answer", '{"ready": true}')
    assert statuses(polling.json("run", "f", "--from", "poll-2")) == ["skipped", "done", "skipped", "done"]


def test_the_rounds_that_are_left_still_have_to_succeed(polling: Project) -> None:
    ended = polling.json("run", "f", "--from", "poll-2", code=1)
    assert "`until` did not hold after 3 rounds" in ended["error"]
    assert (polling.folder / "log").read_text() == "x\nx\n"
