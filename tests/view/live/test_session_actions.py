"""What a person does with a session in a surface, and that an agent or a step cannot do it."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import pytest

from agents.calls.talking import tell
from handrail.app import App
from handrail.base.errors import NotFound, RefusedError
from handrail.extensions.callers import OPEN
from handrail.guided.sessions.machine import Cancel
from handrail.view.actions import Actions, LateAnswer, WrongFields
from handrail.view.live.session import LiveSession, text_of_phase
from support import Project

ASKS = """
phases:
- id: ask
  steps:
  - id: go
    node: user-input
    params: {formId: go, title: Sure?, outputFile: go.json, fields: [{id: sure, type: boolean, label: Sure?}]}
"""


@pytest.fixture
def active(project: Project) -> Project:
    project.workflow("w", ["look", "build"])
    project.json("start", "w", "a task", "--session", "S")
    return project


def app_of(project: Project, **env: str) -> App:
    return App(str(project.folder), {**os.environ, **env}, by=None if env else "person")


def inside_a_step(project: Project) -> App:
    """What a program finds that a step of a run starts."""
    (project.home / "state" / OPEN).unlink()
    return app_of(project, HANDRAIL_RUN="r-outer")


def head(project: Project) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(project.run("view", "session:S").out)["set"]["head"]
    return found


def test_a_session_is_cancelled_and_its_row_says_so(active: Project) -> None:
    live = LiveSession(app_of(active).sessions.choose("S"))
    Actions(app_of(active), "tui").cancel("S")
    live.refresh()
    row = live.topic.rows.get("head", "")
    assert row is not None
    assert (row["status"], row["turn"]) == ("cancelled", None)
    with pytest.raises(RefusedError):
        Actions(app_of(active), "tui").cancel("S")
    with pytest.raises(NotFound):
        Actions(app_of(active), "tui").cancel("other")


def test_a_session_is_reloaded_with_the_files_as_they_are_now(active: Project) -> None:
    actions = Actions(app_of(active), "web")
    assert [stop.name for stop in actions.app.catalog.plan(actions.app.catalog.find("w")).stops] == ["Look", "Build"]
    active.phase("w", "look", "tools:\n  blacklist: [edit]\n")
    actions.reload("S")
    rows = json.loads(active.run("view", "session:S").out)["set"]
    assert [row["how"] for row in rows["moves"]] == ["start", "reload"]
    look = next(row for row in rows["stops"] if row["order"] == 0)
    assert look["gate"] == {"deny": ["edit"], "allow": None, "writes": None}
    active.workflow("w", ["build"])
    with pytest.raises(RefusedError, match="no longer"):
        actions.reload("S")


def test_a_person_moves_a_session_and_has_to_say_why(active: Project) -> None:
    actions = Actions(app_of(active), "web")
    with pytest.raises(WrongFields, match="reason"):
        actions.go_to("S", "2", " ")
    with pytest.raises(NotFound, match="no phase `9`"):
        actions.go_to("S", "9", "enough")
    actions.go_to("S", "2", "enough")
    rows = json.loads(active.run("view", "session:S").out)["set"]
    assert [(row["how"], row["by"], row["summary"]) for row in rows["moves"]][-1] == ("goto", "a person", "enough")
    with pytest.raises(RefusedError, match="only a person"):
        Actions(inside_a_step(active), "tui").go_to("S", "1", "again")


def test_a_session_whose_agent_stopped_has_one_word_everywhere(project: Project) -> None:
    project.write(".handrail/settings.yaml", "idleStops: 0\n")
    project.workflow("w", ["look", "build"])
    about = {"session_id": "C", "cwd": str(project.folder)}
    typed = {"hook_event_name": "UserPromptExpansion", "command_name": "workflow", "command_args": "w a task"}
    tell("claude", {**about, **typed})
    assert project.json("status")["interrupted"] is False
    tell("claude", {**about, "hook_event_name": "Stop"})
    view = json.loads(project.run("view", "session:claude-C").out)["set"]["head"]
    assert (view["status"], row_of_home(project)["status"]) == ("interrupted", "interrupted")
    now = project.json("status")
    assert (now["status"], now["interrupted"]) == ("active", True)
    assert "! interrupted: Handrail lets the agent stop" in project.run("status").out
    assert "! interrupted" in project.run("sessions").out
    tell("claude", {**about, "hook_event_name": "UserPromptSubmit", "prompt": "go on"})
    assert row_of_home(project)["status"] == "active"


def test_the_text_of_a_phase_is_what_the_agent_is_told_now(active: Project) -> None:
    now, later = text_of_phase(app_of(active), "S"), text_of_phase(app_of(active), "S", 1)
    assert (now["stop"], now["isTold"], later["isTold"]) == (0, True, False)
    assert "Do look." in now["text"]
    assert later["text"].strip() == "Do build."
    with pytest.raises(RefusedError):
        text_of_phase(app_of(active), "S", 2)


def test_the_instructions_of_an_ended_session_have_no_placeholders(project: Project) -> None:
    project.write(
        ".handrail/workflows/tell/workflow.yaml", "name: Tell\ncommandName: tell\ninitialMessage: Go\nphases: [a.md]\n"
    )
    project.write(".handrail/workflows/tell/a.md", "---\nid: a\nname: A\nemoji: x\n---\nDo {description}.\n")
    project.json("start", "tell", "bake", "--session", "S")
    project.json("cancel", "--yes", "--session", "S")
    assert text_of_phase(app_of(project), "S")["instructions"].strip() == "Do bake."


def test_a_step_cannot_cancel_a_session_and_the_session_says_that_it_tried(active: Project) -> None:
    actions = Actions(inside_a_step(active), "web")
    assert actions.app.is_leashed
    with pytest.raises(RefusedError, match="only a person"):
        actions.cancel("S")
    with pytest.raises(RefusedError, match="only a person"):
        actions.reload("S")
    assert (head(active)["status"], head(active)["refused"]) == (
        *("active",),
        ["handrail web: cancel", "handrail web: reload"],
    )


def test_an_answer_from_inside_a_step_is_refused_and_the_run_has_a_notice(project: Project) -> None:
    project.write(".handrail/flows/ask.yaml", ASKS)
    run = project.json("run", "ask", code=4)["run"]
    (need,) = json.loads(project.run("view", f"run:{run}").out)["set"]["needs"]
    actions = Actions(inside_a_step(project), "web")
    with pytest.raises(RefusedError, match="only a person"):
        asyncio.run(actions.answer(run, need["id"], need["digest"], {"sure": True}))
    assert project.json("runs", run)["status"] == "waiting"
    assert "an agent tried `handrail web: answer`" in project.run("log", run).out


def test_a_shortened_trail_is_read_again_from_its_start(active: Project) -> None:
    live = LiveSession(app_of(active).sessions.choose("S"))
    trail = next((active.home / "state").rglob("card")).parent / "trail"
    line = json.dumps({"t": 9e9, "tool": "web", "rule": "blacklist", "reason": "", "excerpt": "y"}) + "\n"
    trail.write_text(line * 4)
    live.refresh()
    epoch = live.topic.rows.epoch
    trail.write_text(line * 2)
    live.refresh()
    assert [row["count"] for row in live.topic.rows.section("denials")] == [2]
    assert live.topic.rows.epoch != epoch


def row_of_home(project: Project) -> dict[str, Any]:
    (row,) = json.loads(project.run("view", "home").out)["set"]["entries"]
    found: dict[str, Any] = row
    return found


def need(project: Project) -> dict[str, Any]:
    (row,) = json.loads(project.run("view", "session:S").out)["set"]["needs"]
    found: dict[str, Any] = row
    return found


def test_a_blocked_session_needs_a_person_on_home_and_has_its_question(active: Project) -> None:
    assert row_of_home(active)["group"] == "running"
    active.json("blocked", "there is no key", "--question", "Where is it?", "--session", "S")
    row = row_of_home(active)
    assert (row["group"], row["status"], row["ended"]) == ("needs", "waiting", None)
    title = "The agent cannot go on: there is no key. It asks: Where is it?"
    assert (row["need"]["title"], row["need"]["fields"]) == (title, 1)
    asked = need(active)
    assert (asked["of"], asked["title"]) == ("session:S", title)
    assert (head(active)["status"], head(active)["reason"]) == ("waiting", "there is no key")


def test_an_answer_in_a_surface_lets_a_session_go_on(active: Project) -> None:
    active.json("blocked", "there is no key", "--session", "S")
    asked = need(active)
    actions = Actions(app_of(active), "tui")
    with pytest.raises(WrongFields, match="is blank"):
        actions.answer_session("S", asked["id"], asked["digest"], {"answer": " "})
    actions.answer_session("S", asked["id"], asked["digest"], {"answer": "in the drawer"})
    assert "A person answered: in the drawer" in active.run("context").out
    with pytest.raises(LateAnswer, match="does not ask this any more"):
        actions.answer_session("S", asked["id"], asked["digest"], {"answer": "again"})


def test_a_cancel_that_an_agent_asks_for_is_confirmed_or_refused_in_a_surface(active: Project) -> None:
    actions = Actions(app_of(active), "web")
    active_sessions = app_of(active).sessions
    active_sessions.ask_person("S", Cancel(False, "it is too hard", by_agent=True))
    asked = need(active)
    assert asked["title"] == "The agent asks to cancel the workflow: it is too hard"
    assert (head(active)["status"], head(active)["cancelPending"]) == ("waiting", True)
    actions.answer_session("S", asked["id"], asked["digest"], {"cancel": False, "note": "try"})
    assert head(active)["status"] == "active"
    active_sessions.ask_person("S", Cancel(by_agent=True))
    asked = need(active)
    actions.answer_session("S", asked["id"], asked["digest"], {"cancel": True, "note": ""})
    assert (head(active)["status"], head(active)["endedBy"]) == ("cancelled", "person")


def test_an_agent_cannot_answer_in_a_surface(active: Project) -> None:
    active.json("blocked", "there is no key", "--session", "S")
    asked = need(active)
    with pytest.raises(RefusedError, match="only a person"):
        Actions(inside_a_step(active), "tui").answer_session("S", asked["id"], asked["digest"], {"answer": "x"})


def test_a_persons_move_voids_checks_and_skips_phases_and_the_rows_say_who_moved(project: Project) -> None:
    project.workflow("w", ["look", "build", "ship"])
    project.phase("w", "look", "exit:\n  - file: a.txt\n")
    project.write("a.txt", "x")
    project.json("start", "w", "a task", "--session", "S")
    project.json("next")

    def rows(section: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(project.run("view", "session:S").out)["set"][section]
        return found

    assert rows("checks")[0]["held"] is True
    project.json("goto", "look", "--reason", "again")
    assert rows("checks")[0]["held"] is None
    project.json("goto", "ship", "--reason", "enough")
    assert [row["state"] for row in rows("stops")] == ["skipped", "skipped", "current"]
    moves = [(row["how"], row["by"], row["summary"]) for row in rows("moves")]
    assert moves[2:] == [("goto", "a script", "again"), ("goto", "a script", "enough")]
