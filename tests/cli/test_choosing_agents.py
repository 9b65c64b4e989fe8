"""The agents of a run: refused before it exists if there is none, and chosen again when it is resumed or restarted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from support import Project

FLOW = "phases:\n- id: a\n  steps:\n  - {id: log, node: command, params: {argv: [/bin/sh, -c, 'echo x >> log']}}\n"
ASK = "- id: b\n  steps:\n  - {id: ask, node: llm-prompt, prompt: Do it., routingGroup: review}\n"
BROKEN, FINE = "- fail: auth\n  message: no\n", "- say: fine\n"


@pytest.fixture
def asking(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    project.write("script.yaml", FINE)
    project.write(".handrail/flows/demo.yaml", FLOW + ASK)
    return project


def of_agent(ended: dict[str, Any]) -> tuple[str, str | None, str | None]:
    value = ended["phases"][1]["steps"][0]["value"]
    return ended["status"], value["executor"], value["model"]


def test_a_run_without_an_agent_is_refused_before_it_exists(asking: Project) -> None:
    said = asking.run("run", "demo")
    assert said.code == 1
    assert "step `b/ask` of `demo` needs an agent, and none is chosen" in said.err
    assert "`--agent NAME`" in said.err
    assert "`agent: NAME` in `.handrail/settings.yaml`" in said.err
    assert asking.json("runs")["runs"] == []


def test_an_agent_whose_program_is_missing_is_refused_before_the_run_exists(
    asking: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.delenv("CLAUDE_BIN", raising=False)
    said = asking.run("run", "demo", "--agent", "claude")
    assert (said.code, "`claude` is not installed or not on the PATH" in said.err) == (1, True)
    assert "hint: install it, or choose another agent: `--agent NAME`" in said.err
    (codex := asking.write("bin/codex", "#!/bin/sh\n")).chmod(0o755)
    monkeypatch.setenv("PATH", f"{codex.parent}:/usr/bin:/bin")
    assert "another agent: `--agent codex`" in asking.run("run", "demo", "--agent", "claude").err
    assert asking.json("runs")["runs"] == []
    assert "claude itself is not installed" in asking.run("install", "claude", "--dry-run").err
    assert "not installed" not in asking.run("install", "codex", "--dry-run").err


def test_the_scripted_agent_without_a_script_is_refused_before_the_run_exists(
    asking: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HANDRAIL_SCRIPT")
    said = asking.run("run", "demo", "--agent", "scripted")
    assert said.code == 1
    assert "needs an agent, and the scripted agent needs a script\nhint: write a list such as" in said.err
    assert asking.json("runs")["runs"] == []


def test_a_workflow_without_an_agent_is_refused_too(asking: Project) -> None:
    assert "needs an agent" in asking.run("run", "plan-build-review", "x").err
    assert asking.json("runs")["runs"] == []


def test_an_unknown_agent_in_the_settings_is_refused_with_a_suggestion(asking: Project) -> None:
    asking.write(".handrail/settings.yaml", "agent: scriptd\n")
    assert "did you mean `scripted`?" in asking.run("run", "demo").err
    assert asking.json("runs")["runs"] == []


def test_a_nested_flow_without_an_agent_is_refused_as_well(asking: Project) -> None:
    nest = "phases:\n- id: n\n  steps:\n  - {id: x, node: flow-run, params: {fileName: demo}}\n"
    asking.write(".handrail/flows/outer.yaml", nest)
    assert "step `n/x/b/ask` of `outer` needs an agent" in asking.run("run", "outer").err


@pytest.mark.parametrize("argv", [("--until", "a"), ("--param", "deep=false")])
def test_a_flow_that_may_end_without_its_agent_is_not_refused(asking: Project, argv: tuple[str, ...]) -> None:
    phase = ASK.replace("- id: b\n", "- id: b\n  when: '${params.deep}'\n") if "--param" in argv else ASK
    asking.write(".handrail/flows/demo.yaml", FLOW + phase)
    assert asking.json("run", "demo", *argv)["status"] == "completed"


def test_a_dry_run_needs_no_agent(asking: Project) -> None:
    assert asking.run("run", "demo", "--dry-run").code == 0


def test_resume_takes_another_agent_and_records_it(asking: Project) -> None:
    asking.write("script.yaml", BROKEN)
    run = asking.json("run", "demo", "--agent", "scripted", "--model", "old", code=1)["run"]
    asking.write("script.yaml", FINE)
    assert of_agent(asking.json("resume", run, "--model", "new")) == ("completed", "scripted", "new")
    (routed,) = [event for event in asking.json("log", run)["events"] if event["type"] == "Routed"]
    assert (routed["agent"], routed["model"]) == ("scripted", "new")
    assert (asking.folder / "log").read_text() == "x\n"


@pytest.mark.whole
def test_a_chosen_agent_stays_chosen_for_later_lives(asking: Project) -> None:
    asking.write("script.yaml", BROKEN)
    run = asking.json("run", "demo", "--route", "review=claude:opus", "--until", "a")["run"]
    asking.json("resume", run, "--agent", "scripted", "--model", "m", code=1)
    asking.write("script.yaml", FINE)
    assert of_agent(asking.json("resume", run)) == ("completed", "scripted", "m")


@pytest.mark.whole
def test_settings_that_changed_are_read_again_by_resume(asking: Project) -> None:
    asking.write(".handrail/settings.yaml", "routes: {review: 'scripted:old'}\n")
    asking.write("script.yaml", BROKEN)
    run = asking.json("run", "demo", code=1)["run"]
    asking.write("script.yaml", FINE)
    asking.write(".handrail/settings.yaml", "routes: {review: 'scripted:new'}\n")
    assert of_agent(asking.json("resume", run)) == ("completed", "scripted", "new")
    assert [e["table"] for e in asking.json("log", run)["events"] if e["type"] == "Routed"] == [
        {"review": "scripted:new"}
    ]


@pytest.mark.whole
def test_settings_that_did_not_change_are_not_recorded_again(asking: Project) -> None:
    asking.write(".handrail/settings.yaml", "agent: scripted\n")
    asking.write("script.yaml", BROKEN)
    run = asking.json("run", "demo", code=1)["run"]
    asking.json("resume", run, code=1)
    assert all(event["type"] != "Routed" for event in asking.json("log", run)["events"])


@pytest.mark.whole
@pytest.mark.parametrize("verb", ["resume", "restart"])
def test_a_preset_can_be_chosen_later(asking: Project, verb: str) -> None:
    asking.write(".handrail/settings.yaml", "agent: scripted\npresets: {fast: {review: 'scripted:small'}}\n")
    asking.write("script.yaml", BROKEN)
    run = asking.json("run", "demo", code=1)["run"]
    said = asking.run(verb, run, "--preset", "fst")
    assert (said.code, "did you mean `fast`?" in said.err) == (2, True)
    asking.write("script.yaml", FINE)
    assert of_agent(asking.json(verb, run, "--preset", "fast")) == ("completed", "scripted", "small")


@pytest.mark.whole
def test_restart_reads_the_settings_again_and_takes_another_agent(asking: Project) -> None:
    asking.write(".handrail/settings.yaml", "agent: 'scripted:old'\n")
    asking.write("script.yaml", BROKEN)
    run = asking.json("run", "demo", code=1)["run"]
    asking.write("script.yaml", FINE)
    asking.write(".handrail/settings.yaml", "agent: 'scripted:new'\n")
    assert of_agent(asking.json("restart", run)) == ("completed", "scripted", "new")
    assert of_agent(asking.json("restart", run, "--agent", "scripted", "--from", "b"))[2] is None


@pytest.mark.whole
def test_the_limit_of_another_agent_is_not_waited_for(asking: Project) -> None:
    asking.write("script.yaml", "- {fail: rate-limit, message: too many, resetsIn: 3600}\n")
    with asking_in_background(asking) as run:
        asking.json("stop", run)
    asking.write("script.yaml", FINE)
    assert of_agent(asking.json("resume", run, "--model", "other")) == ("completed", "scripted", "other")


@contextlib.contextmanager
def asking_in_background(project: Project) -> Iterator[str]:
    """A run in the background whose agent waits for a limit."""
    run = project.json("run", "demo", "--agent", "scripted", "--detach")["run"]
    while all(event["type"] != "Delayed" for event in project.json("log", run)["events"]):
        assert project.json("runs")["runs"][0]["status"] == "running"
    yield run


@pytest.mark.whole
def test_continue_takes_another_agent(asking: Project) -> None:
    asking.write(".handrail/flows/demo.yaml", f"continue: again\n{FLOW}{ASK}")
    run = asking.json("run", "demo", "--agent", "scripted")["run"]
    assert of_agent(asking.json("continue", run, "--model", "m")) == ("completed", "scripted", "m")


SETTINGS = "agent: 'scripted:old'\npresets: {fast: {review: 'scripted:fast'}}\n"
CHOICES = {
    "agent": (("--agent", "scripted"), None),
    "model": (("--agent", "scripted", "--model", "m"), "m"),
    "route": (("--route", "review=scripted:routed"), "routed"),
    "preset": (("--preset", "fast"), "fast"),
}


@pytest.mark.whole(12)
@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("verb", ["resume", "restart", "continue"])
def test_every_command_that_goes_on_takes_every_choice_and_keeps_it(asking: Project, verb: str, choice: str) -> None:
    """The choice is recorded: the life after it knows it without being told."""
    argv, model = CHOICES[choice]
    asking.write(".handrail/settings.yaml", SETTINGS)
    asking.write(".handrail/flows/demo.yaml", f"continue: again\n{FLOW}{ASK}")
    asking.write("script.yaml", FINE if verb == "continue" else BROKEN)
    run = asking.json("run", "demo", code=0 if verb == "continue" else 1)["run"]
    asking.write("script.yaml", BROKEN)
    asking.json(verb, run, *argv, code=1)
    asking.write("script.yaml", FINE)
    assert of_agent(asking.json("resume", run)) == ("completed", "scripted", model)


def test_an_unknown_agent_is_refused_by_resume(asking: Project) -> None:
    asking.write("script.yaml", BROKEN)
    run = asking.json("run", "demo", "--agent", "scripted", code=1)["run"]
    said = asking.run("resume", run, "--agent", "scriptd")
    assert (said.code, "did you mean `scripted`?" in said.err) == (2, True)


def test_a_failure_for_want_of_an_agent_names_the_command_that_helps(asking: Project) -> None:
    asking.write(".handrail/flows/demo.yaml", FLOW + ASK.replace("- id: b\n", "- id: b\n  when: '${params.deep}'\n"))
    said = asking.run("run", "demo", "--param", "deep=true")
    assert "--agent NAME` continues with another agent" in said.err


def test_resume_says_that_a_flow_was_changed_and_names_the_command_that_uses_it(project: Project) -> None:
    broken = "- id: b\n  steps:\n  - {id: x, node: command, params: {argv: ['false']}}\n"
    project.write(".handrail/flows/demo.yaml", FLOW + broken)
    failed = project.json("run", "demo", code=1)
    project.write(".handrail/flows/demo.yaml", FLOW + broken.replace("'false'", "'true'"))
    said = project.run("resume", failed["run"])
    told = "`.handrail/flows/demo.yaml` was changed since this run began"
    assert said.code == 1
    assert said.err.index(told) < said.err.index("b/x"), "before anything is run"
    assert said.err.count(f"`handrail restart {failed['run']} --from b` uses the new one") == 2
    assert any(told in hint for hint in project.json("resume", failed["run"], code=1)["hints"])
    assert project.json("restart", failed["run"], "--from", "b")["status"] == "completed"


def test_a_removed_flow_file_is_no_news_because_the_run_has_its_own_copy(project: Project) -> None:
    project.write(".handrail/flows/demo.yaml", FLOW.replace("echo x >> log", "exit 1"))
    failed = project.json("run", "demo", code=1)
    (project.folder / ".handrail/flows/demo.yaml").unlink()
    assert "was changed" not in project.run("resume", failed["run"]).err
