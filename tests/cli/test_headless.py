"""A workflow run without a terminal: the scripted agent is blocked, stops early and dies, and the workflow finishes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support import Project

HANDRAIL = str(Path(sys.executable).parent / "handrail")


def phase(id_: str, more: str = "") -> str:
    return f"---\nid: {id_}\nname: {id_.title()}\nemoji: •\n{more}---\nDo {id_}.\n"


@pytest.fixture
def nested(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    head = 'name: {}\ncommandName: {}\ninitialMessage: "Begin {{description}}."\n'
    flow = ".handrail/workflows"
    project.write(
        f"{flow}/release/workflow.yaml",
        head.format("Release", "release") + "phases: [plan.md, {subworkflow: review}, ship.md]\n",
    )
    project.write(f"{flow}/release/plan.md", phase("plan", "tools:\n  blacklist: [edit, write]\n"))
    project.write(f"{flow}/release/ship.md", phase("ship"))
    project.write(
        f"{flow}/review/workflow.yaml", head.format("Review", "review") + "show: workflows\nphases: [judge.md]\n"
    )
    project.write(f"{flow}/review/judge.md", phase("judge", "exit:\n  - file: report.txt\n"))
    return project


SCRIPT = """\
prompts:
- match: Begin tea.
  play:
  - {tool: write, input: {path: too-early.txt, content: x}}
  - stop: true
  - {step: next, summary: planned}
  - crash: true
- match: You were interrupted
  play:
  - {usage: {inputTokens: 10, outputTokens: 2, usd: 0.5}}
  - {tool: write, input: {path: report.txt, content: fine}}
  - {step: next, summary: judged}
  - stop: true
- match: Ship
  play:
  - {usage: {inputTokens: 20, outputTokens: 3, usd: 0.25}}
  - {step: next, summary: shipped}
"""


def test_a_nested_workflow_is_driven_to_its_end(nested: Project) -> None:
    nested.write("script.yaml", SCRIPT)
    data = nested.json("run", "release", "tea", "--agent", "scripted")
    value = data["phases"][0]["steps"][0]["value"]
    assert (data["status"], value["status"], value["denied"]) == ("completed", "done", 1)
    assert value["calls"] >= 2
    assert [summary["summary"] for summary in value["summaries"]] == ["planned", "judged", "shipped"]
    assert not (nested.folder / "too-early.txt").exists()
    assert data["usage"]["usd"] >= 0.5


def test_an_agent_without_progress_fails_the_run_with_a_reason(nested: Project) -> None:
    nested.write("script.yaml", "- say: I would rather not.\n")
    data = nested.json("run", "release", "tea", "--agent", "scripted", code=1)
    assert data["reason"] == "stuck at release/run"
    assert "Plan" in data["error"]


def test_after_a_kill_of_handrail_the_workflow_continues_at_the_same_phase(nested: Project) -> None:
    nested.write(
        "script.yaml",
        "prompts:\n- match: Begin tea.\n  play:\n  - {step: next, summary: planned}\n"
        "  - {tool: bash, input: {command: 'echo $$ > working; sleep 60'}}\n"
        + SCRIPT.partition("prompts:\n")[2].replace("Begin tea.", "never"),
    )
    process = subprocess.Popen(
        [HANDRAIL, "run", "release", "tea", "--agent", "scripted", "--quiet"], start_new_session=True
    )
    try:
        while not (nested.folder / "working").exists():
            assert process.poll() is None
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    id_ = nested.json("runs")["runs"][0]["run"]
    assert nested.json("stop", id_)["status"] == "cancelled"
    data = nested.json("resume", id_)
    value = data["phases"][0]["steps"][0]["value"]
    assert [summary["summary"] for summary in value["summaries"]] == ["planned", "judged", "shipped"]
    assert len(nested.json("sessions")["sessions"]) == 1


@pytest.fixture
def stuck(nested: Project) -> Project:
    """A run that failed, so that its session is still in the first phase."""
    nested.write("script.yaml", "- say: I would rather not.\n")
    nested.json("run", "release", "tea", "--agent", "scripted", code=1)
    return nested


def test_the_session_of_a_failed_run_is_not_picked_up_by_people(stuck: Project) -> None:
    (row,) = stuck.json("sessions")["sessions"]
    id_ = stuck.json("runs")["runs"][0]["run"]
    assert (row["status"], row["run"]) == ("active", id_)
    assert f"run:{id_}" in stuck.run("sessions").out
    assert stuck.json("sessions", "--active")["sessions"] == []
    said = stuck.run("next")
    assert said.code == 1
    assert f"`{row['session']}` belongs to run `{id_}`" in said.err
    assert stuck.json("gate", "write")["rule"] == "no-workflow"
    assert stuck.json("status", "--session", row["session"])["phase"]["id"] == "plan"


def test_a_person_can_start_a_workflow_beside_the_session_of_a_run(stuck: Project) -> None:
    own = stuck.json("start", "release", "coffee")["session"]
    assert stuck.json("status")["session"] == own


def test_the_session_of_a_failed_run_is_there_when_the_run_is_resumed(stuck: Project) -> None:
    stuck.write("script.yaml", SCRIPT.replace("Begin tea.", "You were interrupted", 1))
    id_ = stuck.json("runs")["runs"][0]["run"]
    stuck.run("resume", id_)
    assert len(stuck.json("sessions")["sessions"]) == 1


def test_a_workflow_runs_inside_a_flow(nested: Project) -> None:
    nested.write("script.yaml", SCRIPT)
    nested.write(
        ".handrail/flows/ship.yaml",
        "phases:\n- id: a\n  steps:\n  - {id: w, node: workflow-run, params: {workflow: release, task: tea}}\n"
        "  - {id: x, node: set, params: {steps: '${steps.a.w.outputs.steps}'}}\n",
    )
    data = nested.json("run", "ship", "--agent", "scripted")
    assert data["phases"][0]["steps"][1]["value"] == {"steps": 3}


def test_routes_are_chosen_by_group_and_stored_with_the_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    project.write("script.yaml", "- say: done\n")
    project.write(
        ".handrail/settings.yaml",
        "agent: nobody\nroutes: {review: 'scripted:r1'}\npresets:\n  cheap: {default: 'scripted:cheap'}\n"
        "flows:\n  mine: {planning: 'scripted:p1'}\n",
    )
    steps = (
        "  - {id: plan, node: llm-prompt, routingGroup: planning, prompt: x}\n"
        "  - {id: look, node: llm-prompt, routingGroup: review, prompt: x}\n"
        "  - {id: own, node: llm-prompt, prompt: x, params: {executor: scripted, model: m}}\n"
        "  - {id: rest, node: llm-prompt, prompt: x}\n"
    )
    project.write(".handrail/flows/mine.yaml", f"phases:\n- id: a\n  steps:\n{steps}")

    def models(*argv: str, code: int = 0) -> list[object]:
        found = project.json("run", "mine", *argv, code=code)["phases"][0]["steps"]
        return [step["value"]["model"] if step["value"] else step["error"] for step in found]

    assert models("--preset", "cheap") == ["p1", "r1", "m", "cheap"]
    assert models("--agent", "scripted", "--model", "z") == ["z", "z", "z", "z"]
    assert models("--preset", "cheap", "--route", "review=scripted:q") == ["p1", "q", "m", "cheap"]
    assert "there is no agent `nobody`" in str(models(code=1)[3])
    assert "there is no routing group `reviews`" in project.run("run", "mine", "--route", "reviews=x").err
    assert "there is no preset `cheep`" in project.run("run", "mine", "--preset", "cheep").err
