"""What the result of a run, a step and a session says about denied calls, and a run whose work was all denied."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support import Project

WRITE = "{tool: write, input: {path: made.txt, content: x}}"


def workflow(project: Project, phases: str = "blacklist: [edit, write]", checks: str = "") -> None:
    folder = ".handrail/workflows/note"
    project.write(f"{folder}/workflow.yaml", "name: Note\ncommandName: note\ninitialMessage: Go.\nphases: [think.md]\n")
    rules = f"tools: {{{phases}}}\n{checks}"
    project.write(f"{folder}/think.md", f"---\nid: think\nname: Think\nemoji: •\n{rules}---\nThink.\n")


def run(project: Project, script: str, code: int) -> dict[str, Any]:
    project.write("script.yaml", script)
    data: dict[str, Any] = project.json("run", "note", "a task", "--agent", "scripted", code=code)
    return data


@pytest.fixture
def scripted(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    return project


def test_a_run_whose_every_attempt_at_the_work_was_denied_is_not_green(scripted: Project) -> None:
    workflow(scripted)
    data = run(scripted, f"- {WRITE}\n- {WRITE}\n- {{step: next, summary: all done}}\n", 5)
    assert (data["status"], data["outcome"], data["reason"]) == ("failed", "denied", "denied at note/run")
    assert (data["denied"], data["deniedTools"]) == (2, {"write": 2})
    step = data["phases"][0]["steps"][0]
    assert (step["status"], step["denied"], step["deniedTools"]) == ("failed", 2, {"write": 2})
    assert "2 calls were denied: write 2" in scripted.run("runs", data["run"]).err


@pytest.mark.whole
@pytest.mark.parametrize("checks", ["", "exit: [{file: made.txt}]\n"], ids=["allowed", "proven"])
def test_a_run_is_green_if_work_was_allowed_or_a_phase_proves_it(scripted: Project, checks: str) -> None:
    workflow(scripted, checks=checks)
    work = "- {tool: bash, input: {command: 'true'}}\n"
    if checks:
        scripted.write("made.txt", "x")
    data = run(scripted, f"- {WRITE}\n{'' if checks else work}- {{step: next, summary: done}}\n", 0)
    assert (data["status"], data["outcome"], data["denied"]) == ("completed", "success", 1)
    assert data["deniedTools"] == {"write": 1}


@pytest.mark.whole
def test_reading_is_no_work(scripted: Project) -> None:
    workflow(scripted)
    read = "{tool: read, input: {path: script.yaml}}"
    assert run(scripted, f"- {read}\n- {WRITE}\n- {{step: next, summary: done}}\n", 5)["outcome"] == "denied"
    assert run(scripted, f"- {read}\n- {{step: next, summary: done}}\n", 0)["denied"] == 0


@pytest.mark.whole
def test_a_run_that_was_denied_begins_its_workflow_again_when_it_is_resumed(scripted: Project) -> None:
    workflow(scripted)
    id_ = run(scripted, f"- {WRITE}\n- {{step: next, summary: done}}\n", 5)["run"]
    scripted.write("script.yaml", "- {tool: bash, input: {command: 'true'}}\n- {step: next, summary: done}\n")
    assert scripted.json("resume", id_)["outcome"] == "success"


def test_a_session_says_what_was_denied(scripted: Project) -> None:
    workflow(scripted)
    scripted.json("start", "note", "a task", "--session", "s")
    message = {"project": str(scripted.folder), "session": "s", "event": "tool", "tool": "edit", "input": {"path": "a"}}
    for _ in range(2):
        assert not scripted.process("hook", "scripted", stdin=json.dumps(message)).data["allow"]
    assert scripted.json("status")["deniedTools"] == {"edit": 2}
    ended = scripted.json("next")
    assert (ended["status"], ended["denied"], ended["deniedTools"]) == ("done", 2, {"edit": 2})
    assert "2 calls were denied: edit 2" in scripted.run("status", "--session", "s").out
