"""A kill around the proof of a step: the finished node does not run again before its proof was looked at."""

from __future__ import annotations

import json
import signal

import pytest

from crash.cases import Case
from crash.children.doom import Doom
from crash.conftest import Stage
from crash.flows import command, phase
from crash.pool import Pool

FINISHED = Doom("after", event="NodeFinished", path="a/x")
REFUTED = Doom("after", event="AttemptFailed", path="a/x")
WORKED = Doom("torn", keep="nothing", event="NodeFinished", path="a/x")
PROOF = "expect: [{file: made}]"


def case(stage: Stage, more: str, *, reads: str = "") -> Case:
    last = f"  - {{id: y, node: set, params: {{got: '{reads}'}}}}\n" if reads else command("y", "say", "y")
    return stage.small(phase("a", command("x", "say", "x", more=more)) + phase("b", last))


def kill(pool: Pool, case: Case, doom: Doom) -> None:
    assert pool.run(case, "resume", "--quiet", doom=doom).code == -signal.SIGKILL


@pytest.mark.parametrize("rerun", ["safe", "ask", "never"])
def test_after_a_kill_between_node_and_proof_only_the_proof_is_looked_at(pool: Pool, stage: Stage, rerun: str) -> None:
    run = case(stage, f"{PROOF}\n    rerun: {rerun}")
    kill(pool, run, FINISHED)
    (run.project / "made").write_text("x")
    assert pool.run(run, "resume", "--quiet").code == 0
    assert run.logged() == {"a/x": 1, "b/y": 1}


def test_after_a_kill_behind_a_failed_proof_it_is_looked_at_first(pool: Pool, stage: Stage) -> None:
    run = case(stage, f"{PROOF}\n    retry: {{attempts: 2, wait: 0.2}}\n    rerun: never")
    kill(pool, run, REFUTED)
    (run.project / "made").write_text("x")
    assert pool.run(run, "resume", "--quiet").code == 0
    assert run.logged() == {"a/x": 1, "b/y": 1}


def test_after_a_kill_behind_a_failed_proof_the_next_attempt_needs_no_question(pool: Pool, stage: Stage) -> None:
    """The step says `retry`, so it may run again; only after its last attempt `rerun` decides."""
    run = case(stage, f"{PROOF}\n    retry: {{attempts: 2, wait: 0.2}}\n    rerun: never")
    kill(pool, run, REFUTED)
    assert pool.run(run, "resume", "--quiet").code == 1
    assert run.logged() == {"a/x": 2}
    assert pool.run(run, "resume", "--quiet").code == 1
    assert run.logged() == {"a/x": 2}


def answer(pool: Pool, case: Case, values: dict[str, str], code: int) -> str:
    letter = case.folder / "letter"
    letter.write_text(json.dumps(values))
    said = pool.run(case, "answer", "--file", str(letter), "--quiet")
    assert said.code == code, said
    return said.err


def test_if_a_command_had_finished_the_outputs_that_the_flow_uses_are_asked_for(pool: Pool, stage: Stage) -> None:
    run = case(stage, "timeout: 60", reads="${steps.a.x.outputs.exitCode}/${steps.a.x.outputs.output}")
    kill(pool, run, WORKED)
    said = pool.run(run, "resume", "--quiet", "--json")
    (question,) = said.data["questions"]
    fields = question["form"]["fields"]
    assert [field["id"] for field in fields] == ["rerun", "outputs.exitCode", "outputs.output"]
    assert "outputs.exitCode" in answer(pool, run, {"rerun": "done"}, code=2)
    answer(pool, run, {"rerun": "done", "outputs.exitCode": "0", "outputs.output": "v1.10"}, code=0)
    assert run.run.state.steps["b/y"].value == {"got": "0/v1.10"}
    assert run.run.state.steps["a/x"].value == {"assumedDone": True, "exitCode": 0, "output": "v1.10"}


def test_outputs_are_not_asked_for_if_the_command_runs_again(pool: Pool, stage: Stage) -> None:
    run = case(stage, "timeout: 60", reads="${steps.a.x.outputs.exitCode}")
    kill(pool, run, WORKED)
    assert pool.run(run, "resume", "--quiet").code == 4
    answer(pool, run, {"rerun": "again"}, code=0)
    assert run.run.state.steps["b/y"].value == {"got": 0}


def test_the_whole_result_can_be_given_as_json(pool: Pool, stage: Stage) -> None:
    run = case(stage, "timeout: 60", reads="${steps.a.x.value}")
    kill(pool, run, WORKED)
    assert pool.run(run, "resume", "--quiet").code == 4
    answer(pool, run, {"rerun": "done", "value": '{"exitCode": 3}'}, code=0)
    assert run.run.state.steps["b/y"].value == {"got": {"assumedDone": True, "exitCode": 3}}
