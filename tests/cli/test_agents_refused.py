"""Commands that loosen the leash are refused if an agent calls them. Every record says who caused it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.app import App
from handrail.base.errors import RefusedError
from handrail.extensions.callers import OPEN, Caller, ancestors, find_caller
from handrail.extensions.registry import Registry
from support import Project

HANDRAIL = os.path.join(os.path.dirname(sys.executable), "handrail")
ASKING = (
    "phases:\n- id: a\n  steps:\n  - id: ask\n    node: user-input\n    params: {formId: f, title: Who?, "
    "fields: [{id: who, type: text, label: Who}]}\n"
)
AGENT, (VARIABLE, *_) = next((name, variables) for name, (variables, _) in Registry().signs().items() if variables)


@pytest.fixture
def leashed(project: Project) -> Project:
    """A project with an active session `s` and a run that waits, in a state that is not open to agents."""
    (project.home / "state" / OPEN).unlink()
    project.workflow("ship", ["plan", "build"])
    project.json("start", "ship", "a task", "--session", "s")
    project.write(".handrail/flows/asking.yaml", ASKING)
    project.json("run", "asking", code=4)
    project.write("letter.yaml", "who: Ada\n")
    return project


above = find_caller({}, ancestors(os.getpid()), Registry().signs(), has_terminal=False)
pytestmark = pytest.mark.skipif(above.sign is not None, reason="an agent runs the tests, so nobody else can call")
LOOSENING = [
    ("cancel", "--yes", "--session", "s"),
    ("cancel", "--session", "s"),
    ("start", "ship", "other", "--session", "s", "--replace"),
    ("reload", "--session", "s"),
    ("answer", "last", "--file", "letter.yaml"),
    ("resume", "last", "--answers", "letter.yaml"),
    ("restart", "last", "--answers", "letter.yaml"),
    ("resume", "last", "--max-usd", "5"),
    ("continue", "last", "--approve", "git-push"),
    ("resume", "last", "--param", "n=1"),
    ("restart", "last", "--approve", "git-push"),
    ("restart", "last", "--max-tokens", "5"),
    ("run", "asking", "--answers", "letter.yaml"),
    ("stop", "last"),
    ("prune", "--keep", "0", "--yes"),
    ("scope", "reset", "k", "--yes"),
    ("import", "agentweaver"),
    ("adopt", "/elsewhere"),
    ("uninstall", "claude"),
    ("trust",),
    ("playbook init", "--no-agent", "--yes"),
    ("run", "playbook-init", "--accept-playbook-draft"),
    ("run", "playbook-init", "--param", "acceptPlaybookDraft=true"),
    ("run", "asking", "--trust"),
    ("doctor", "claude", "--probe", "--program", "/bin/true"),
]


def as_agent(project: Project, *argv: str, **env: str) -> Any:
    return project.process(*argv[0].split(), *argv[1:], **(env or {VARIABLE: "1"}))


@pytest.mark.whole(23)
@pytest.mark.parametrize("argv", LOOSENING, ids=" ".join)
def test_a_command_that_loosens_the_leash_is_refused(leashed: Project, argv: tuple[str, ...]) -> None:
    said = as_agent(leashed, *argv)
    assert said.code == 1
    assert f"only a person may run `handrail {argv[0]}" in said.err
    assert f"`{VARIABLE}` is set" in said.err
    assert "hint: a person can" in said.err
    assert leashed.json("status", "--session", "s")["status"] == "active"
    (run,) = leashed.json("runs")["runs"]
    assert (run["status"], len(run["waitingFor"])) == ("waiting", 1)


@pytest.mark.whole
@pytest.mark.parametrize("argv", [("status", "--session", "s"), ("next", "--session", "s"), ("runs",), ("log", "last")])
def test_an_agent_may_run_every_other_command(leashed: Project, argv: tuple[str, ...]) -> None:
    assert as_agent(leashed, *argv).code == 0


def test_a_step_of_a_run_is_refused_too(leashed: Project) -> None:
    leashed.write(
        ".handrail/flows/loosens.yaml",
        f"phases:\n- id: a\n  steps:\n  - id: x\n    node: command\n"
        f"    params: {{argv: ['{HANDRAIL}', cancel, --yes, --session, s]}}\n",
    )
    failed = leashed.json("run", "loosens", code=1)
    assert "a person can run it in a terminal" in failed["error"]
    assert leashed.json("status", "--session", "s")["status"] == "active"


@pytest.mark.whole
def test_the_process_of_an_agent_above_is_enough(leashed: Project, tmp_path: Path) -> None:
    """The agent's program is a script here, and it removes its variables."""
    (program,) = (name for name in Registry().signs()[AGENT][1] if "/" not in name)
    script = tmp_path / program
    script.write_text(f"#!/bin/sh\n'{HANDRAIL}' cancel --yes --session s\nexit $?\n")
    script.chmod(0o755)
    ended = subprocess.run([str(script)], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert f"it was started by `{AGENT}`" in ended.stderr
    assert leashed.json("status", "--session", "s")["status"] == "active"


@pytest.mark.whole
def test_the_person_is_told_of_a_refused_command(leashed: Project) -> None:
    as_agent(leashed, "cancel", "--yes", "--session", "s")
    as_agent(leashed, "uninstall", "claude")
    status = leashed.json("status", "--session", "s")
    assert status["refusedCommands"] == ["handrail cancel", "handrail uninstall claude"]
    assert status["by"] == f"agent:{AGENT}"
    assert "an agent tried `handrail cancel`" in leashed.run("status", "--session", "s").out
    as_agent(leashed, "stop", "last")
    notices = [event["text"] for event in leashed.json("log", "last")["events"] if event["type"] == "Noticed"]
    assert notices == [f"an agent tried `handrail stop`; only a person may run it (agent:{AGENT})"]
    assert leashed.run("log", "last", "--follow").code == 0, "the notice does not hide that the run waits"


@pytest.mark.whole
def test_the_person_is_told_when_the_life_of_a_driven_run_ends(project: Project) -> None:
    (project.home / "state" / OPEN).unlink()
    os.mkfifo(project.folder / "gate")
    step = "{id: x, node: command, params: {argv: [/bin/sh, -c, 'read line < gate']}}"
    project.write(".handrail/flows/gated.yaml", f"phases:\n- id: a\n  steps:\n  - {step}\n")
    with subprocess.Popen([HANDRAIL, "run", "gated", "--events"], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        while "NodeStarted" not in driver.stdout.readline():
            pass
        assert as_agent(project, "stop", "last").code == 1
        (project.folder / "gate").write_text("go\n")
        driver.stdout.read()
    assert driver.returncode == 0
    assert [event["type"] for event in project.json("log", "last")["events"]][-2:] == ["Noticed", "RunEnded"]


def test_the_hint_names_what_a_person_types_in_the_agent(leashed: Project) -> None:
    host = next(name for name in Registry().hosts() if Registry().signs()[name][0])
    said = as_agent(leashed, "cancel", **{Registry().signs()[host][0][0]: "1"})
    assert Registry().host(host).COMMANDS["cancel"] in said.err


def test_a_state_that_is_open_to_agents_takes_every_command(leashed: Project) -> None:
    (leashed.home / "state" / OPEN).touch()
    assert as_agent(leashed, "cancel", "--yes", "--session", "s").code == 0


@pytest.mark.whole
def test_another_home_does_not_open_this_state(leashed: Project, tmp_path: Path) -> None:
    """An agent can make a home of its own and open it. Even a link to the real state does not open that."""
    other = tmp_path / "other"
    (other / "config").mkdir(parents=True)
    (other / OPEN).touch()
    (other / "config" / OPEN).touch()
    (other / "state").symlink_to(leashed.home / "state")
    env = {VARIABLE: "1", "HANDRAIL_HOME": str(other)}
    assert as_agent(leashed, "cancel", "--yes", "--session", "s", **env).code == 1
    assert leashed.json("status", "--session", "s")["status"] == "active"


def test_every_record_of_a_session_says_who_caused_it(leashed: Project) -> None:
    assert leashed.json("status", "--session", "s")["by"] == "script"
    assert json.loads(as_agent(leashed, "next", "--session", "s", "--json").out)["by"] == f"agent:{AGENT}"
    assert leashed.json("sessions")["sessions"][0]["by"] == f"agent:{AGENT}"


def test_the_events_of_a_run_say_who_caused_them(leashed: Project) -> None:
    leashed.json("answer", "last", "--file", "letter.yaml")
    made = {event["type"]: event["by"] for event in leashed.json("log", "last")["events"] if "by" in event}
    assert made == {"RunStarted": "script", "RunResumed": "script", "Answered": "script", "RunEnded": None}
    run = json.loads(as_agent(leashed, "run", "asking", "--json").out)["run"]
    leashed.json("stop", run, code=0)
    events = leashed.json("log", run)["events"]
    assert (events[0]["by"], events[-1]["by"]) == (f"agent:{AGENT}", "script")


@pytest.mark.parametrize("action", ["next", "loop"])
def test_an_agent_with_workflow_step_does_not_move_its_workflow_in_a_shell(leashed: Project, action: str) -> None:
    message = {"hook_event_name": "UserPromptExpansion", "command_name": "workflow", "command_args": "ship tea"}
    message |= {"session_id": "c", "cwd": str(leashed.folder)}
    leashed.process("hook", "claude", stdin=json.dumps(message))
    said = as_agent(leashed, action, "--session", "claude-c")
    assert (said.code, leashed.json("status", "--session", "claude-c")["steps"]) == (1, 0)
    assert "hint: call the tool `workflow_step`" in said.err
    assert leashed.json("status", "--session", "claude-c")["refusedCommands"] == [f"handrail {action}"]
    assert as_agent(leashed, action, "--session", "s").code == 0
    assert leashed.process(action, "--session", "claude-c").code == 0


def test_a_terminal_without_a_shell_does_not_cancel_the_workflow_of_a_conversation(leashed: Project) -> None:
    message = {"hook_event_name": "UserPromptExpansion", "command_name": "workflow", "command_args": "ship tea"}
    leashed.process("hook", "claude", stdin=json.dumps({**message, "session_id": "c", "cwd": str(leashed.folder)}))
    app = App(str(leashed.folder), os.environ)
    app.caller = Caller("person", has_shell=False)
    with pytest.raises(RefusedError, match="may not be from a person"):
        app.refuse_agents("cancel", session="claude-c")
    status = leashed.json("status", "--session", "claude-c")
    assert (status["status"], bool(status["question"])) == ("active", True)
    app.refuse_agents("cancel", session="s")
    app.caller = Caller("person")
    app.refuse_agents("cancel", session="claude-c")
