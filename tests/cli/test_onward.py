"""Every failure prints the command that really goes on: each story runs the command that it was told."""

from __future__ import annotations

import json

import pytest

from support import Project


def step(script: str, more: str = "") -> str:
    return f"{{id: x, node: command, params: {{argv: [/bin/sh, -c, {json.dumps(script)}]}}{more}}}"


def flow(project: Project, steps: str) -> None:
    project.write(".handrail/flows/demo.yaml", f"phases:\n- id: a\n  steps:\n  - {steps}\n")


def hint(project: Project, run: str) -> str:
    """The hint of the failed run, with `RUN` for its id. It is printed in the same words."""
    found: str = project.json("resume", run, code=1)["hints"][0]
    assert f"{found}\n" in project.run("resume", run).err
    return found.replace(run, "RUN")


SECOND = "echo x >> log; test $(wc -l < log) -lt 2 || touch made"


@pytest.mark.parametrize(
    ("more", "told", "code"),
    [
        ("rerun: safe", "and if it does not hold, runs the step again", 0),
        ("rerun: ask", "and if it does not hold, asks whether to run the step again", 4),
    ],
)
def test_a_proof_that_does_not_hold_is_looked_at_again(project: Project, more: str, told: str, code: int) -> None:
    flow(project, step(SECOND, f", makes: [made], {more}"))
    failed = project.json("run", "demo", code=1)
    run = failed["run"]
    assert failed["hints"][0] == f"`handrail resume {run}` checks again what is expected of `a/x`, {told}"
    project.json("resume", run, code=code)


def test_after_a_failed_command_resume_goes_on(project: Project) -> None:
    flow(project, step("test -e ready"))
    run = project.json("run", "demo", code=1)["run"]
    assert hint(project, run) == "fix the cause, then run `handrail resume RUN`"
    project.write("ready", "")
    assert project.json("resume", run)["status"] == "completed"


def test_after_a_mistake_in_the_flow_only_restart_goes_on(project: Project) -> None:
    wrong = "{id: x, node: set, params: {v: '${params.p.q}'}}"
    flow(project, wrong)
    run = project.json("run", "demo", "--param", "p=1", code=1)["run"]
    told = "if the flow is wrong, correct its file, then run `handrail restart RUN`; "
    assert hint(project, run) == told + "`handrail resume RUN` uses the flow as it was"
    flow(project, wrong.replace("params.p.q", "params.p"))
    project.json("resume", run, code=1)
    assert project.json("restart", run)["status"] == "completed"


def test_after_a_time_limit_resume_has_all_of_it_again(project: Project) -> None:
    flow(project, step("test -e ready || sleep 60", ", timeout: 0.2, rerun: safe"))
    failed = project.json("run", "demo", code=3)
    run = failed["run"]
    assert failed["hints"][0] == f"`handrail resume {run}` continues, with the whole time limit again"
    project.write("ready", "")
    assert project.json("resume", run)["status"] == "completed"


@pytest.mark.whole
def test_an_interrupted_command_that_must_not_run_again_needs_a_restart(project: Project) -> None:
    flow(project, step('test -e ready || kill -9 "$PPID"', ", rerun: never"))
    project.process("run", "demo")
    run = project.json("runs")["runs"][0]["run"]
    assert hint(project, run) == "find out whether `a/x` had finished; `handrail restart RUN` runs it again"
    project.write("ready", "")
    assert project.json("restart", run)["status"] == "completed"


@pytest.mark.whole
def test_a_stopped_run_is_resumed(project: Project) -> None:
    flow(project, step("test -e ready || sleep 60", ", rerun: safe"))
    run = project.json("run", "demo", "--detach")["run"]
    assert project.json("stop", run)["hints"][0] == f"`handrail resume {run}` resumes it"
    project.write("ready", "")
    assert project.json("resume", run)["status"] == "completed"


def test_a_secret_that_is_not_set_any_more_has_to_be_set(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "very-secret-value")
    keep = "{id: k, node: set, params: {t: '${context.env.MY_TOKEN}'}}"
    use = "{id: x, node: command, params: {argv: [test, -e, '${steps.a.k.outputs.t}']}}"
    flow(project, f"{keep}\n  - {use}\nenv: [MY_TOKEN]")
    run = project.json("run", "demo", code=1)["run"]
    monkeypatch.delenv("MY_TOKEN")
    assert hint(project, run) == "set the variable, then run `handrail resume RUN`"
    monkeypatch.setenv("MY_TOKEN", "very-secret-value")
    project.write("very-secret-value", "")
    assert project.json("resume", run)["status"] == "completed"


def test_a_secret_in_a_file_has_to_be_removed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "very-secret-value")
    flow(project, step("echo very-secret-value > out.txt", ", makes: [out.txt], rerun: safe"))
    run = project.json("run", "demo", code=1)["run"]
    assert hint(project, run).startswith("remove the secret from the file, then run `handrail resume RUN`; ")
    project.write("out.txt", "nothing")
    assert project.json("resume", run)["status"] == "completed"


FETCH = "{id: x, node: jira-fetch, params: {jiraApiUrl: '${params.jiraApiUrl}', outputFile: i.json}}"


def test_a_variable_that_is_read_at_the_start_needs_a_restart(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write(
        ".agentweaver/.flows/demo.yaml", f"kind: demo-flow\nversion: 1\nphases:\n- id: a\n  steps:\n  - {FETCH}\n"
    )
    run = project.json("run", "demo", "ABC-1", code=1)["run"]
    told = hint(project, run)
    assert told == "set JIRA_BASE_URL, then run `handrail restart RUN`; or start the flow again with an issue"
    monkeypatch.setenv("JIRA_BASE_URL", "http://127.0.0.1:9/")
    assert "JIRA_API_KEY" in project.json("restart", run, code=1)["error"]


def test_a_wrong_answer_is_asked_for_again_by_a_restart(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITLAB_TOKEN", "a-token-of-gitlab")
    ask = (
        "{id: q, node: user-input, params: {formId: f, title: Which, fields: [{id: url, type: text, label: Address}]}}"
    )
    url = "'${steps.a.q.value.values.url}'"
    files = "outputFile: d.md, outputJsonFile: d.json"
    fetch = f"{{id: x, node: fetch-gitlab-diff, params: {{mergeRequestUrl: {url}, {files}}}}}"
    flow(project, f"{ask}\n  - {fetch}")
    answers = project.write("answers.yaml", "url: nonsense\n")
    failed = project.json("run", "demo", "--answers", str(answers), code=1)
    assert "`handrail restart " in failed["hints"][0]
    assert "asks its questions again" in failed["hints"][0]
    project.json("restart", failed["run"], code=4)
