"""Stories of guided sessions through the command line."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.base.jsonlite import encode_line
from support import Project


@pytest.fixture
def release(project: Project) -> Project:
    project.workflow("review", ["static", "peer"], "show: workflows\n")
    project.workflow("release", ["plan", "@review", "ship"])
    project.phase("release", "plan", "tools:\n  blacklist: [edit, write]\n")
    return project


def test_a_session_has_the_json_of_the_contract(release: Project) -> None:
    release.json("start", "release", "ship", "1.2", "--session", "S")
    view = release.json("next", "--session", "S", "--summary", "planned")
    assert view["session"] == "S"
    assert (view["workflow"], view["name"], view["task"]) == ("release", "Release", "ship 1.2")
    assert view["taskId"].startswith("wf-")
    assert view["status"] == "active"
    assert view["path"] == [["release", 1], ["review", 0]]
    assert view["phase"] == {"id": "static", "name": "Static", "emoji": "•", "index": 1, "total": 2}
    assert view["steps"] == 1
    assert view["statusLine"] == "Release > Review [2/3] > • Static [1/2]"
    assert "Do static." in view["message"]


def test_a_finished_workflow_is_done_and_says_so_once(release: Project) -> None:
    release.json("start", "release", "ship it", "--session", "S")
    for _ in range(3):
        release.json("next", "--session", "S")
    view = release.json("next", "--session", "S")
    assert (view["status"], view["phase"], view["statusLine"]) == ("done", None, None)
    assert "Release is done." in view["message"]
    assert "ship it" in view["message"]
    refused = release.json("next", "--session", "S", code=1)
    assert refused["refused"] == "not-active"


def test_the_workflows_own_completion_message_is_used(project: Project) -> None:
    project.workflow("one", ["only"], 'completionMessage: "{workflowName}|{taskDescription}|{phaseCount}"\n')
    project.json("start", "one", "the task")
    assert "One|the task|1" in project.json("next")["message"]


def test_the_only_active_session_is_the_default(release: Project) -> None:
    release.json("start", "release", "a")
    assert release.json("status")["task"] == "a"


def test_with_two_active_sessions_the_error_lists_them(release: Project) -> None:
    release.json("start", "release", "a", "--session", "one")
    release.json("start", "release", "b", "--session", "two")
    said = release.run("status")
    assert said.code == 1
    assert "`one`" in said.err
    assert "`two`" in said.err


def test_a_second_start_is_refused_and_changes_nothing(release: Project) -> None:
    release.json("start", "release", "first", "--session", "S")
    said = release.run("start", "release", "second", "--session", "S")
    assert said.code == 1
    assert "--replace" in said.err
    assert release.json("status", "--session", "S")["task"] == "first"


def test_replace_cancels_the_first_workflow_and_starts_the_second(release: Project) -> None:
    release.json("start", "release", "first", "--session", "S")
    release.json("next", "--session", "S")
    view = release.json("start", "release", "second", "--session", "S", "--replace")
    assert (view["task"], view["steps"], view["path"]) == ("second", 0, [["release", 0]])


def test_an_unknown_workflow_gets_a_suggestion(release: Project) -> None:
    said = release.run("start", "relaese", "x")
    assert said.code == 1
    assert "did you mean `release`" in said.err


def test_a_subworkflow_cannot_be_started_by_itself(release: Project) -> None:
    said = release.run("start", "review", "x")
    assert said.code == 1
    assert "only runs inside other workflows" in said.err


def test_loop_returns_to_the_first_phase_of_the_innermost_workflow(release: Project) -> None:
    release.json("start", "release", "x")
    release.json("next")
    release.json("next")
    view = release.json("loop")
    assert view["path"] == [["release", 1], ["review", 0]]
    assert view["steps"] == 3


def test_a_loop_that_is_not_allowed_is_refused(project: Project) -> None:
    project.workflow("strict", ["a", "b"], "loopable: false\n")
    project.json("start", "strict", "x")
    view = project.json("loop", code=1)
    assert view["refused"] == "not-loopable"


def test_cancel_asks_and_a_second_cancel_confirms(release: Project) -> None:
    release.json("start", "release", "x", "--session", "S")
    asked = release.json("cancel", "--session", "S", code=4)
    assert (asked["status"], asked["cancelPending"]) == ("active", True)
    assert release.json("cancel", "--session", "S")["status"] == "cancelled"


def test_a_move_between_two_cancels_withdraws_the_first(release: Project) -> None:
    release.json("start", "release", "x", "--session", "S")
    release.json("cancel", "--session", "S", code=4)
    release.json("next", "--session", "S")
    assert release.json("cancel", "--session", "S", code=4)["status"] == "active"


def test_a_refused_move_between_two_cancels_withdraws_the_first(project: Project) -> None:
    project.workflow("strict", ["a"], "loopable: false\n")
    project.json("start", "strict", "x", "--session", "S")
    project.json("cancel", "--session", "S", code=4)
    project.json("loop", "--session", "S", code=1)
    assert project.json("cancel", "--session", "S", code=4)["status"] == "active"


def test_cancel_with_yes_cancels_at_once(release: Project) -> None:
    release.json("start", "release", "x", "--session", "S")
    assert release.json("cancel", "--yes", "--session", "S")["status"] == "cancelled"


def test_the_gate_denies_with_a_reason_and_exits_0(release: Project) -> None:
    release.json("start", "release", "x")
    verdict = release.json("gate", "edit")
    assert (verdict["allow"], verdict["tool"], verdict["rule"]) == (False, "edit", "blacklist")
    assert "edit" in verdict["reason"]
    assert release.json("gate", "read") == {"allow": True, "reason": None, "tool": "read", "rule": "unlisted"}
    assert release.json("gate", "workflow_step")["allow"]


def test_the_gate_allows_everything_without_an_active_workflow(release: Project) -> None:
    assert release.json("gate", "edit")["allow"]
    release.json("start", "release", "x", "--session", "S")
    release.json("cancel", "--yes", "--session", "S")
    assert release.json("gate", "edit", "--session", "S")["allow"]


def test_a_summary_is_kept_and_shown(release: Project) -> None:
    release.json("start", "release", "x")
    release.json("next", "--summary", "decided to ship")
    assert release.json("status")["summaries"] == [{"phase": "Plan", "summary": "decided to ship"}]
    assert "decided to ship" in release.run("context").out


def test_placeholders_are_resolved_in_every_text(project: Project) -> None:
    project.workflow("w", ["a", "b"], 'notDoneReminder: "{phaseInstructions} for {taskDescription}"\n')
    project.write(
        ".handrail/workflows/w/b.md", "---\nid: b\nname: B\nemoji: •\n---\n{previousPhaseName} {description} {taskId}"
    )
    project.json("start", "w", "tea")
    message = project.json("next")["message"]
    assert "A tea wf-" in message
    assert "A tea wf-" in project.json("status")["message"]


def test_sessions_of_two_projects_do_not_mix(release: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    release.json("start", "release", "here", "--session", "S")
    other = release.folder.parent / "other"
    (other / ".handrail").mkdir(parents=True)
    monkeypatch.chdir(other)
    assert release.run("status", "--session", "S").code == 1
    assert release.json("sessions")["sessions"] == []


def test_nothing_is_written_into_the_workspace_and_state_is_private(release: Project) -> None:
    before = sorted(path for path in release.folder.rglob("*"))
    release.json("start", "release", "x")
    release.json("next")
    assert sorted(path for path in release.folder.rglob("*")) == before
    for path in (release.home / "state").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_an_edited_file_changes_a_running_session_only_by_reload(release: Project) -> None:
    release.json("start", "release", "x")
    release.workflow("release", ["intro", "plan", "@review", "ship"])
    assert release.json("status")["statusLine"] == "Release > • Plan [1/3]"
    assert release.json("reload")["statusLine"] == "Release > • Plan [2/4]"


def test_reload_is_refused_if_the_phase_was_removed(release: Project) -> None:
    release.json("start", "release", "x")
    release.workflow("release", ["intro", "ship"])
    said = release.run("reload")
    assert said.code == 1
    assert "phase `plan` is no longer in release" in said.out
    assert release.json("status")["statusLine"] == "Release > • Plan [1/3]"


def test_a_running_session_does_not_need_its_definition_files(release: Project) -> None:
    release.json("start", "release", "x")
    for path in (release.folder / ".handrail/workflows/release").iterdir():
        path.unlink()
    assert not release.json("gate", "edit")["allow"]
    assert release.json("next")["phase"]["id"] == "static"


def test_a_damaged_session_denies_tools_and_a_person_can_cancel_it(release: Project) -> None:
    release.json("start", "release", "x", "--session", "S")
    release.json("next", "--session", "S")
    journal = next((release.home / "state").rglob("journal"))
    journal.write_bytes(b"garbage" + journal.read_bytes())
    (journal.parent / "card").unlink()
    assert release.json("gate", "read", "--session", "S")["rule"] == "undecided"
    assert release.run("next", "--session", "S").code == 1
    assert release.json("cancel", "--yes", "--session", "S")["status"] == "cancelled"
    assert release.json("gate", "read", "--session", "S")["allow"]
    release.json("start", "release", "again", "--session", "S")


def test_an_error_with_json_is_one_object(release: Project) -> None:
    said = release.run("status", "--json")
    assert said.code == 1
    assert said.data["error"]["code"] == "not-found"


def test_a_session_id_is_never_a_path(release: Project) -> None:
    """Cancelling a conversation without a session removes only our own link."""
    victim = release.write("../victim/file", "precious")
    said = release.run("cancel", "--yes", "--session", f"{victim.parent}-file")
    assert said.code == 1
    assert victim.read_text() == "precious"


def test_a_session_that_cannot_be_read_counts_as_active(release: Project) -> None:
    release.json("start", "release", "x")
    next((release.home / "state").rglob("plan-*")).write_text("{}")
    (next((release.home / "state").rglob("card"))).unlink()
    assert release.json("gate", "edit")["rule"] == "undecided"
    assert release.run("start", "release", "another").code == 1
    assert release.json("cancel", "--yes")["status"] == "cancelled"


def test_an_empty_journal_is_damage_and_not_a_new_session(release: Project) -> None:
    release.json("start", "release", "x", "--session", "S")
    next((release.home / "state").rglob("journal")).write_bytes(b"")
    verdict = release.json("gate", "edit", "--session", "S")
    assert verdict["rule"] == "undecided"
    assert "handrail cancel --yes --session S" in verdict["reason"]


def test_a_record_with_a_position_outside_of_the_plan_is_refused(release: Project) -> None:
    release.json("start", "release", "x", "--session", "S")
    journal = next((release.home / "state").rglob("journal"))
    events = [{"type": "Moved", "origin": 0, "to": 99, "phase": "Plan", "summary": ""}]
    journal.write_bytes(journal.read_bytes() + encode_line({"n": 1, "t": 1.0, "events": events}))
    said = release.run("status", "--session", "S")
    assert said.code == 1
    assert "is damaged at record 1: it does not lead to the phase after Plan" in said.err
    assert release.json("cancel", "--yes", "--session", "S")["status"] == "cancelled"


def test_control_characters_in_a_definition_do_not_reach_the_terminal(project: Project) -> None:
    project.workflow("evil", ["a"], 'completionMessage: "\\e]0;owned\\a {workflowName}"\n')
    project.json("start", "evil", "x\x1b[31mred")
    for command in ("status", "sessions", "next"):
        said = project.run(command)
        assert "\x1b" not in said.out + said.err


@pytest.mark.whole
def test_two_simultaneous_starts_make_one_session(release: Project) -> None:
    argv = [str(Path(sys.executable).parent / "handrail"), "start", "release", "x"]
    started = [subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(4)]
    codes = sorted(process.wait(timeout=60) for process in started)
    assert codes == [0, 1, 1, 1]
    assert len(release.json("sessions")["sessions"]) == 1


def test_a_relative_home_is_refused(release: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAIL_HOME", "here")
    said = release.run("list")
    assert said.code == 2
    assert "absolute path" in said.err


def test_the_rule_of_a_verdict_is_listed_only_for_what_a_list_names(project: Project) -> None:
    for key, tools, rule in (("a", "blacklist: [write]", "unlisted"), ("b", "whitelist: [read]", "listed")):
        project.phase(key, "look", f"tools: {{{tools}}}\n")
        project.workflow(key, ["look"])
        project.json("start", key, "do it", "--session", key)
        assert project.json("gate", "read", "--session", key)["rule"] == rule
        assert project.json("gate", "write", "--session", key)["allow"] is False


def test_the_gate_knows_the_names_of_every_agent(release: Project) -> None:
    release.json("start", "release", "x")
    verdict = release.json("gate", "Edit")
    assert (verdict["allow"], verdict["tool"], verdict["rule"]) == (False, "Edit", "blacklist")
    assert release.json("gate", "Edit", "--input", '{"file_path": "a"}')["allow"] is False
    assert release.run("gate", "Read").err == ""


def test_the_gate_warns_about_a_tool_that_no_agent_has(release: Project) -> None:
    release.json("start", "release", "x")
    said = release.run("gate", "edti")
    assert said.data["allow"] is True
    assert said.err == "warning: there is no tool `edti`; did you mean `edit`?\n"
    assert "Edit" in release.run("gate", "Edti", "--agent", "claude").err
    assert release.run("gate", "mcp__github__merge").err == ""
