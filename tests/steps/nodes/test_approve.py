"""`approve`: a person says yes or no, and a file that changes after the yes asks again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from steps.nodes.single import as_flow, refused, value
from support import Project

YES, NO = {"approved": True}, {"approved": False, "reason": "too big"}


def answer(project: Project, values: dict[str, Any]) -> dict[str, Any]:
    file = project.write(".handrail/answer.json", json.dumps(values))
    return project.run("answer", "last", "--file", str(file), "--json").data


def form(project: Project) -> Any:
    return project.json("answer", "last", "--show")["form"]


def test_a_yes_continues(project: Project) -> None:
    project.write("plan.md", "# Plan\n\nOne step.\n")
    as_flow(project, "approve", question="Build it?", details="plan.md", files=["plan.md"], code=4)
    asked = form(project)
    assert asked["title"] == "Build it?"
    assert "File: plan.md\nDetails:\n  | # Plan\n  | \n  | One step.\nFile: plan.md (18 bytes)" in asked["description"]
    run = answer(project, YES)
    given = {"approved": True, "by": "person", "reason": "", "rule": None, "stopped": False}
    assert (run["status"], value(run)) == ("completed", given)


def test_details_are_text_unless_they_name_a_file(project: Project) -> None:
    for text in ("Two steps, no risk.", "../outside", "/etc/hostname", ".handrail"):
        as_flow(project, "approve", question="Build it?", details=text, code=4)
        assert form(project)["description"] == f"Details: {text}"


@pytest.mark.parametrize(("otherwise", "status"), [("stop", "stopped"), ("skip", "completed"), ("fail", "failed")])
def test_a_no(project: Project, otherwise: str, status: str) -> None:
    as_flow(project, "approve", question="Build it?", otherwise=otherwise, code=4)
    run = answer(project, NO)
    assert run["status"] == status
    if status == "failed":
        assert "too big" in run["error"]
    else:
        assert (value(run)["approved"], value(run)["reason"]) == (False, "too big")


def test_a_file_that_changes_after_the_yes_asks_again(project: Project) -> None:
    project.write("plan.md", "one\n")
    as_flow(project, "approve", question="Build it?", files=["plan.md"], code=4)
    project.write("plan.md", "two\n")
    assert answer(project, YES)["status"] == "waiting"
    assert "plan.md (" in form(project)["description"]
    assert "since it was asked last" in form(project)["description"]
    assert answer(project, YES)["status"] == "completed"


def test_a_run_that_is_resumed_asks_about_the_present_state(project: Project) -> None:
    project.write("plan.md", "one\n")
    as_flow(project, "approve", question="Build it?", files=["plan.md"], code=4)
    first = project.json("answer", "last", "--show")["question"]
    assert project.json("resume", "last", code=4)["status"] == "waiting"
    assert project.json("answer", "last", "--show")["question"] == first
    project.write("plan.md", "two\n")
    assert project.json("resume", "last", code=4)["status"] == "waiting"
    assert project.json("answer", "last", "--show")["question"] != first
    assert "plan.md (" in form(project)["description"]
    (project.folder / "plan.md").unlink()
    assert project.json("resume", "last", code=4)["status"] == "waiting", "what cannot be looked at is still asked"
    project.write("plan.md", "two\n")
    assert answer(project, YES)["status"] == "completed"


def test_an_answer_in_advance(project: Project) -> None:
    file = project.write(".handrail/answers.yaml", "approve: {approved: true, reason: fine}\n")
    run = as_flow(project, "approve", "--answers", str(file), question="Build it?")
    assert (value(run)["approved"], value(run)["reason"]) == (True, "fine")


def test_a_rule_passes_the_question(project: Project) -> None:
    run = as_flow(project, "approve", "--approve", "approve", question="Build it?")
    assert (value(run)["by"], value(run)["rule"]) == ("rule", "--approve approve")


def test_the_log_says_which_rule_passed_the_question(project: Project) -> None:
    run = as_flow(project, "approve", "--approve", "approve", question="Build it?")
    told = "a rule said yes to `Build it?`: --approve approve"
    assert told in project.run("log", run["run"]).out
    events = [json.loads(line) for line in project.run("log", run["run"], "--events").out.splitlines()]
    assert sum(told in json.dumps(event) for event in events) == 1


@pytest.mark.parametrize("command", ["continue", "restart"])
def test_a_run_that_goes_on_can_be_approved_as_well(project: Project, command: str) -> None:
    step = {"id": "x", "node": "approve", "params": {"question": "Build it?"}}
    flow = {"continue": "again", "phases": [{"id": "a", "steps": [step]}]}
    project.write(".handrail/flows/one.json", json.dumps(flow))
    project.write("no.yaml", "approve: {approved: false}\n")
    run = project.json("run", "one", "--answers", "no.yaml", code=1)
    assert value(run)["approved"] is False
    again = project.json(command, run["run"], "--approve", "approve")
    assert (value(again)["by"], value(again)["rule"]) == ("rule", "--approve approve")
    assert project.run(command, run["run"], "--approve", "nonsense").code == 2


def test_files_have_to_exist_in_the_project(project: Project) -> None:
    assert refused(project, "approve", question="Build it?", files=["gone.md"])[0] == "file-unreadable"
    assert refused(project, "approve", question="Build it?", files=["../x"])[0] == "path-escape"
    assert refused(project, "approve", question=" ")[0] == "params"
