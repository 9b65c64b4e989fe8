"""A workflow run without a terminal: the scripted agent is blocked, stops early and dies, and the workflow finishes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

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


@pytest.mark.whole
def test_a_nested_workflow_is_driven_to_its_end(nested: Project) -> None:
    nested.write("script.yaml", SCRIPT)
    data = nested.json("run", "release", "tea", "--agent", "scripted")
    value = data["phases"][0]["steps"][0]["value"]
    assert (data["status"], value["status"], value["denied"]) == ("completed", "done", 1)
    assert value["calls"] >= 2
    assert [summary["summary"] for summary in value["summaries"]] == ["planned", "judged", "shipped"]
    assert not (nested.folder / "too-early.txt").exists()
    assert data["usage"]["usd"] >= 0.5


@pytest.mark.whole
def test_an_agent_without_progress_fails_the_run_with_a_reason(nested: Project) -> None:
    nested.write("script.yaml", "- say: I would rather not.\n")
    data = nested.json("run", "release", "tea", "--agent", "scripted", code=1)
    assert data["reason"] == "stuck at release/run"
    assert "Plan" in data["error"]


BLOCKED = """\
prompts:
- match: Begin tea.
  play:
  - {step: blocked, summary: there is no key}
  - stop: true
- match: in the drawer
  play:
  - {step: next, summary: planned}
  - {step: next, summary: judged}
  - {step: next, summary: shipped}
"""


def test_a_blocked_agent_lets_its_run_wait_for_a_person_and_goes_on_with_the_answer(nested: Project) -> None:
    nested.write("script.yaml", BLOCKED)
    nested.write("report.txt", "fine")
    waiting = nested.json("run", "release", "tea", "--agent", "scripted", code=4)
    assert waiting["status"] == "waiting"
    (asked,) = nested.json("runs")["runs"][0]["waitingFor"]
    assert asked["title"] == "The agent cannot go on: there is no key. It asks: What should the agent do?"
    assert "The agent cannot go on: there is no key." in nested.run("runs", "last").out
    refused = nested.run("unblock", "--note", "x")
    assert refused.code == 1
    assert f"hint: `handrail answer {waiting['run']}`" in refused.err
    nested.write("answer.yaml", "answer: in the drawer\n")
    assert nested.json("answer", waiting["run"], "--file", "answer.yaml")["status"] == "completed"
    said = nested.run("log", waiting["run"]).out
    assert "the agent cannot go on in Plan: there is no key" in said
    assert "left no record" not in said, "it was not killed"
    assert len(nested.json("sessions")["sessions"]) == 1


@pytest.mark.whole
def test_each_question_of_an_agent_is_asked(nested: Project) -> None:
    again = "- match: in the drawer\n  play:\n  - {step: blocked, summary: it does not fit}\n"
    nested.write("script.yaml", BLOCKED.replace("- match: in the drawer", f"{again}- match: the other one", 1))
    nested.write("report.txt", "fine")
    run = nested.json("run", "release", "tea", "--agent", "scripted", code=4)["run"]
    for answer, status, code in (("in the drawer", "waiting", 4), ("the other one", "completed", 0)):
        nested.write("answer.yaml", f"answer: {answer}\n")
        assert nested.json("answer", run, "--file", "answer.yaml", code=code)["status"] == status


@pytest.mark.whole
@pytest.mark.parametrize(("answer", "status"), [("cancel: true\nnote: enough", "failed"), ("note: try", "completed")])
def test_the_agent_of_a_run_asks_a_person_to_cancel(nested: Project, answer: str, status: str) -> None:
    nested.write(
        "script.yaml",
        BLOCKED.replace("{step: blocked, summary: there is no key}", "step: cancel").replace(
            "in the drawer", "A person does not cancel the workflow"
        ),
    )
    nested.write("report.txt", "fine")
    run = nested.json("run", "release", "tea", "--agent", "scripted", code=4)["run"]
    assert nested.json("sessions")["sessions"][0]["status"] == "active"
    nested.write("answer.yaml", f"{answer}\n")
    ended = nested.json("answer", run, "--file", "answer.yaml", code=int(status == "failed"))
    assert ended["status"] == status
    if status == "failed":
        assert "Release was cancelled by a script in the phase Plan: enough" in ended["error"]


@pytest.mark.whole
def test_the_session_of_a_run_is_answered_through_the_run(nested: Project) -> None:
    nested.write("script.yaml", BLOCKED)
    run = nested.json("run", "release", "tea", "--agent", "scripted", code=4)["run"]
    session = nested.json("sessions")["sessions"][0]["session"]
    said = nested.run("unblock", "--note", "x", "--session", session)
    assert said.code == 1
    assert f"`handrail answer {run}`" in said.err


@pytest.mark.whole
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


@pytest.fixture(params=["failed", "stopped"])
def stuck(nested: Project, request: pytest.FixtureRequest) -> Project:
    """A run that failed or was stopped, so that its session is still in the first phase."""
    nested.write("script.yaml", "- say: I would rather not.\n" if request.param == "failed" else "- hang: 600\n")
    if request.param == "failed":
        nested.json("run", "release", "tea", "--agent", "scripted", code=1)
        return nested
    run = nested.json("run", "release", "tea", "--agent", "scripted", "--detach")["run"]
    while not nested.json("sessions")["sessions"]:
        time.sleep(0.02)
    nested.json("stop", run)
    return nested


@pytest.mark.whole
def test_the_session_of_a_run_that_ended_early_is_not_picked_up_by_people(stuck: Project) -> None:
    (row,) = stuck.json("sessions")["sessions"]
    id_ = stuck.json("runs")["runs"][0]["run"]
    assert (row["status"], row["run"]) == ("active", id_)
    assert f"left (run {id_} " in stuck.run("sessions").out
    assert stuck.json("sessions", "--active")["sessions"] == []
    said = stuck.run("next")
    assert said.code == 1
    assert f"`{row['session']}` belongs to run `{id_}`" in said.err
    assert stuck.json("gate", "write")["rule"] == "no-workflow"
    assert stuck.json("status", "--session", row["session"])["phase"]["id"] == "plan"


@pytest.mark.whole
def test_a_person_can_start_a_workflow_beside_the_session_of_a_run(stuck: Project) -> None:
    own = stuck.json("start", "release", "coffee")["session"]
    assert stuck.json("status")["session"] == own


@pytest.mark.whole
def test_the_session_of_a_run_that_ended_early_is_there_when_it_is_resumed(stuck: Project) -> None:
    stuck.write("script.yaml", SCRIPT.replace("Begin tea.", "You were interrupted", 1))
    id_ = stuck.json("runs")["runs"][0]["run"]
    stuck.run("resume", id_)
    assert len(stuck.json("sessions")["sessions"]) == 1


@pytest.mark.whole
def test_a_workflow_runs_inside_a_flow(nested: Project) -> None:
    nested.write("script.yaml", SCRIPT)
    nested.write(
        ".handrail/flows/ship.yaml",
        "phases:\n- id: a\n  steps:\n  - {id: w, node: workflow-run, params: {workflow: release, task: tea}}\n"
        "  - {id: x, node: set, params: {steps: '${steps.a.w.outputs.steps}'}}\n",
    )
    data = nested.json("run", "ship", "--agent", "scripted")
    assert data["phases"][0]["steps"][1]["value"] == {"steps": 3}


@pytest.mark.whole
def test_routes_are_chosen_by_group_and_stored_with_the_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    project.write("script.yaml", "- say: done\n")
    project.write(
        ".handrail/settings.yaml",
        "routes: {review: 'scripted:r1'}\npresets:\n  cheap: {default: 'scripted:cheap'}\n"
        "flows:\n  mine: {planning: 'scripted:p1'}\n",
    )
    steps = (
        "  - {id: plan, node: llm-prompt, routingGroup: planning, prompt: x}\n"
        "  - {id: look, node: llm-prompt, routingGroup: review, prompt: x}\n"
        "  - {id: own, node: llm-prompt, prompt: x, params: {executor: scripted, model: m}}\n"
        "  - {id: rest, node: llm-prompt, prompt: x}\n"
    )
    project.write(".handrail/flows/mine.yaml", f"phases:\n- id: a\n  steps:\n{steps}")

    def models(*argv: str) -> list[object]:
        return [step["value"]["model"] for step in project.json("run", "mine", *argv)["phases"][0]["steps"]]

    assert models("--preset", "cheap") == ["p1", "r1", "m", "cheap"]
    assert models("--agent", "scripted", "--model", "z") == ["z", "z", "z", "z"]
    assert models("--preset", "cheap", "--route", "review=scripted:q") == ["p1", "q", "m", "cheap"]
    assert "step `a/rest` of `mine` needs an agent, and none is chosen" in project.run("run", "mine").err
    assert "there is no agent `nobody`" in project.run("run", "mine", "--route", "default=nobody").err
    assert "there is no routing group `reviews`" in project.run("run", "mine", "--route", "reviews=x").err
    said = project.run("run", "mine", "--preset", "cheep")
    assert (said.code, "there is no preset `cheep`" in said.err) == (2, True)


def guided(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """(kind, phase) of everything that happened in the workflow."""
    return [(event["kind"], event["phase"]) for event in events if event["type"] == "Guided"]


@pytest.mark.whole
def test_the_phases_of_the_workflow_are_events_of_the_run(nested: Project) -> None:
    nested.write("script.yaml", SCRIPT)
    said = nested.run("run", "release", "tea", "--agent", "scripted", "--events")
    live = [json.loads(line) for line in said.out.splitlines()]
    assert guided(live) == [
        ("entered", "Plan"),
        ("sent-on", "Plan"),
        ("entered", "Judge"),
        ("check-held", "Judge"),
        ("entered", "Ship"),
        ("sent-on", "Ship"),
        ("sent-on", "Ship"),
        ("finished", "Ship"),
    ]
    kept = nested.json("log", "last")["events"]
    assert guided(kept) == guided(live)
    places = [event["place"] for event in kept if event.get("kind") == "entered"]
    assert places == ["• Plan [1/3]", "Review [2/3] > • Judge [1/1]", "• Ship [3/3]"]
    acts = [event["kind"] for event in kept if event["type"] == "AgentActed" and event["kind"] != "tool"]
    assert acts == ["denied", "again", "again"]


@pytest.mark.whole
def test_a_failed_exit_check_is_an_event_that_says_which_and_why(nested: Project) -> None:
    nested.write(
        "script.yaml", SCRIPT.replace("  - {step: next, summary: planned}\n", "  - step: next\n  - step: next\n")
    )
    nested.run("run", "release", "tea", "--agent", "scripted")
    failed = [event for event in nested.json("log", "last")["events"] if event.get("kind") == "check-failed"]
    assert [(event["phase"], event["text"]) for event in failed] == [("Judge", "`report.txt` does not exist")]


@pytest.mark.whole
def test_progress_without_a_terminal_shows_phase_by_phase(nested: Project) -> None:
    nested.write("script.yaml", SCRIPT)
    lines = nested.run("run", "release", "tea", "--agent", "scripted").err.splitlines()
    assert [line.strip() for line in lines if line.startswith("    ")] == [
        "● phase • Plan [1/3]",
        "! the agent stopped early in Plan and was told to continue",
        "● phase Review [2/3] > • Judge [1/1]",
        "✓ checked: `report.txt` exists",
        "● phase • Ship [3/3]",
        "! the agent stopped early in Ship and was told to continue",
        "! the agent stopped early in Ship and was told to continue",
        "✓ the workflow is done",
    ]
    assert "  ! release/run  denied: write: write is not allowed in the phase Plan" in "\n".join(lines)


@pytest.mark.whole
def test_a_phase_is_told_while_the_agent_still_works(nested: Project) -> None:
    wait = "until test -e go; do sleep 0.05; done"
    nested.write(
        "script.yaml",
        f"- {{step: next, summary: planned}}\n- {{tool: bash, input: {{command: '{wait}'}}}}\n"
        "- {tool: write, input: {path: report.txt, content: fine}}\n- step: next\n- step: next\n",
    )
    run = nested.json("run", "release", "tea", "--agent", "scripted", "--detach")["run"]
    while ("entered", "Judge") not in guided(nested.json("log", run)["events"]):
        assert nested.json("runs", run)["status"] == "running"
        time.sleep(0.02)
    assert "● phase Review [2/3] > • Judge [1/1]" in nested.run("log", run).out
    assert not (nested.folder / "report.txt").exists(), "the agent still waits"
    nested.write("go", "")
    assert "✓ the workflow is done" in nested.run("log", run, "--follow").out


@pytest.mark.whole
def test_the_log_tells_a_workflow_phase_by_phase_afterwards(nested: Project) -> None:
    twice = "  - {step: next, summary: planned}\n  - step: next\n"
    nested.write("script.yaml", SCRIPT.replace("  - {step: next, summary: planned}\n", twice))
    nested.json("run", "release", "tea", "--agent", "scripted")
    told = [line[10:].strip() for line in nested.run("log", "last").out.splitlines()]
    signs = ("● phase", "! the agent stopped", "! denied", "! Judge", "✓ the workflow")
    assert [line.partition(" of Release.")[0] for line in told if line.startswith(signs)] == [
        "● phase • Plan [1/3]",
        "! denied: write: write is not allowed in the phase Plan",
        "! the agent stopped early in Plan and was told to continue",
        "● phase Review [2/3] > • Judge [1/1]",
        "! Judge cannot be left yet: `report.txt` does not exist",
        "● phase • Ship [3/3]",
        "! the agent stopped early in Ship and was told to continue",
        "! the agent stopped early in Ship and was told to continue",
        "✓ the workflow is done",
    ]


@pytest.mark.whole
def test_what_happened_while_handrail_was_dead_is_told_once_after_a_resume(nested: Project) -> None:
    """A person moves the session while the run is not driven. The next life tells that, and nothing twice."""
    nested.write("script.yaml", "prompts:\n- match: Begin tea.\n  play:\n  - fail: auth\n")
    data = nested.json("run", "release", "tea", "--agent", "scripted", code=1)
    session = nested.json("sessions")["sessions"][0]["session"]
    nested.json("next", "--session", session, "--summary", "by hand")
    nested.write("report.txt", "fine")
    nested.write("script.yaml", "- {step: next}\n- {step: next}\n")
    nested.json("resume", data["run"])
    found = guided(nested.json("log", data["run"])["events"])
    moves = [("entered", "Plan"), ("entered", "Judge"), ("check-held", "Judge"), ("entered", "Ship")]
    assert found == [*moves, ("finished", "Ship")]


def test_a_workflow_whose_result_is_not_accepted_is_begun_again(nested: Project) -> None:
    """The second agent works in a conversation of its own, and is told what was missing."""
    nested.workflow("judge", ["look"])
    nested.write(
        ".handrail/flows/twice.yaml",
        "phases:\n- id: a\n  steps:\n  - {id: x, node: workflow-run, params: {workflow: judge, task: tea}, "
        "makes: [made.txt], retry: {attempts: 2, wait: 0}}\n",
    )
    play = "{step: next, summary: judged}"
    made = "{tool: write, input: {path: made.txt, content: x}}"
    nested.write(
        "script.yaml",
        f"prompts:\n- match: did not make `made.txt`\n  play: [{made}, {play}]\n- match: begin\n  play: [{play}]\n",
    )
    data = nested.json("run", "twice", "--agent", "scripted")
    opened = [event for event in nested.json("log", data["run"])["events"] if event["type"] == "SessionOpened"]
    assert (data["status"], len({event["session"] for event in opened})) == ("completed", 2)


def test_the_log_of_a_run_shows_the_exit_checks_that_hold_as_that_of_a_session_does(nested: Project) -> None:
    nested.write("script.yaml", SCRIPT.replace("Begin tea.", "Begin").replace("  - crash: true\n", ""))
    nested.write("report.txt", "fine")
    nested.write("script.yaml", "- {step: next, summary: planned}\n- {step: next}\n- {step: next, summary: shipped}\n")
    run = nested.json("run", "release", "tea", "--agent", "scripted")
    held = "✓ checked: `report.txt`"
    assert held in nested.run("log", "last").out
    assert held in nested.run("log", run["phases"][0]["steps"][0]["value"]["session"]).out
