"""A toy agent becomes an executor through one registry row and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handrail.extensions import registry
from support import Project

FLOW = """
phases:
- id: a
  steps:
  - {id: x, node: llm-prompt, prompt: 'Say ${params.what}.'}
  - {id: y, node: toy-prompt, prompt: And again.}
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    project = Project(tmp_path, monkeypatch, capsys)
    monkeypatch.setitem(registry.AGENTS, "toy", {"executor": "agents.toy_executor"})
    monkeypatch.setenv("TOY_KEY", "mine")
    monkeypatch.setenv("OTHER_VALUE", "not for agents")
    project.write(".handrail/flows/talk.yaml", FLOW)
    return project


def test_steps_are_given_to_it_by_name_and_by_its_own_node(toy: Project) -> None:
    ended = toy.json("run", "talk", "--param", "what=hello", "--agent", "toy")
    first, second = (step["value"] for step in ended["phases"][0]["steps"])
    assert json.loads(first["output"]) == {"heard": "Say hello.", "key": "mine", "other": ""}
    assert (first["executor"], second["executor"]) == ("toy", "toy")
    assert json.loads(second["output"])["heard"] == "And again."


def test_the_settings_may_name_it(toy: Project) -> None:
    toy.write(".handrail/settings.yaml", "agent: toy:small\n")
    ended = toy.json("run", "talk", "--param", "what=hello")
    assert ended["phases"][0]["steps"][0]["value"]["model"] == "small"


def test_a_workflow_cannot_be_given_to_an_agent_that_is_no_host(toy: Project) -> None:
    toy.workflow("w", ["look"])
    ended = toy.json("run", "w", "some", "task", "--agent", "toy", code=1)
    assert "`toy` cannot run a workflow yet" in ended["error"]


DENIED = [{"kind": "tool", "id": "1", "name": "edit"}, {"kind": "denied", "name": "edit", "reason": "no"}]
RAN = [{"kind": "tool", "id": "2", "name": "bash"}, {"kind": "result", "id": "2", "ok": True, "output": ""}]
STEP = "phases: [{id: a, steps: [{id: x, node: llm-prompt, prompt: Go., %s}]}]"


@pytest.mark.parametrize(
    ("says", "more", "code"),
    [
        (DENIED, "params: {}", 5),
        (DENIED + RAN, "params: {}", 0),
        (DENIED, "params: {permissions: read}", 0),
        (DENIED, "expect: [{file: made.txt}]", 0),
        (RAN, "params: {}", 0),
    ],
    ids=["denied", "worked", "only reads", "proven", "nothing denied"],
)
def test_a_step_whose_agent_could_do_none_of_its_work_fails(
    toy: Project, monkeypatch: pytest.MonkeyPatch, says: list[dict[str, object]], more: str, code: int
) -> None:
    monkeypatch.setenv("TOY_SAYS", "".join(json.dumps(line) + "\n" for line in says))
    toy.write("made.txt", "x")
    toy.write(".handrail/flows/talk.yaml", STEP % more)
    ended = toy.json("run", "talk", "--agent", "toy", code=code)
    assert ended["outcome"] == ("denied" if code else "success")
    assert ended["deniedTools"] == ({"edit": 1} if says != RAN else {})
