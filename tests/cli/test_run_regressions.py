"""Regression tests: each test is a story that showed a bug."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support import Project


def flow(project: Project, name: str, text: str) -> None:
    project.write(f".handrail/flows/{name}.yaml", text)


def command(script: str) -> str:
    return f"node: command, params: {{argv: [/bin/sh, -c, {json.dumps(script)}]}}"


def values(run: dict[str, Any]) -> list[Any]:
    return [step["value"] for phase in run["phases"] for step in phase["steps"]]


def test_the_working_directory_is_not_a_secret(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PWD", str(project.folder))
    monkeypatch.setenv("MONKEY", "bananas12")
    flow(project, "demo", "phases:\n- id: a\n  steps:\n  - {id: x, node: command, params: {argv: [pwd]}}\n")
    assert values(project.json("run", "demo"))[0]["output"].strip() == str(project.folder)


def test_a_secret_with_the_value_of_a_phase_id_does_no_harm(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTGRES_PASSWORD", "postgres")
    monkeypatch.setenv("API_TOKEN", "StepStarted")
    flow(
        project,
        "demo",
        f"phases:\n- {{id: postgres, steps: [{{id: x, {command('echo x >> log')}}}]}}\n"
        f"- {{id: b, steps: [{{id: y, {command('test -f ready')}}}]}}\n",
    )
    id_ = project.json("run", "demo", code=1)["run"]
    project.write("ready", "")
    assert [phase["status"] for phase in project.json("resume", id_)["phases"]] == ["done", "done"]
    assert (project.folder / "log").read_text() == "x\n"


@pytest.mark.parametrize(("given", "got"), [("1.10", 1.1), ("3", 3), ("true", True), ("[1]", [1]), ("NaN", "NaN")])
def test_a_parameter_is_json_if_its_text_is(project: Project, given: str, got: object) -> None:
    flow(project, "demo", "phases:\n- id: a\n  steps:\n  - {id: x, node: set, params: {v: '${params.v}'}}\n")
    assert values(project.json("run", "demo", "--param", f"v={given}"))[0]["v"] == got


def test_numbers_may_be_arguments(project: Project) -> None:
    flow(
        project,
        "demo",
        "phases:\n- id: a\n  steps:\n  - {id: x, node: command, params: {argv: [echo, '${params.n}', 2]}}\n",
    )
    assert values(project.json("run", "demo", "--param", "n=1"))[0]["output"] == "1 2\n"


@pytest.mark.parametrize("line", ['{"x": NaN}', "[" * 5000])
def test_unusual_output_does_not_crash_a_run(project: Project, line: str) -> None:
    flow(project, "demo", "phases:\n- id: a\n  steps:\n  - {id: x, node: command, params: {argv: [cat, odd]}}\n")
    project.write("odd", line)
    assert project.json("run", "demo")["status"] == "completed"


def test_an_invalid_param_fails_only_the_step(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    step = '{id: x, node: read-file, params: {path: "a\\0${params.b}"}}'
    flow(project, "demo", f"phases:\n- id: a\n  steps:\n  - {step}\n")
    assert project.json("run", "demo", "--param", "b=b", code=1)["status"] == "failed"
    flow(project, "none", "phases:\n- id: a\n  steps:\n  - {id: x, node: command, params: {argv: [no-such-program]}}\n")
    assert "is not installed or not on the PATH" in project.json("run", "none", code=1)["error"]
    flow(
        project,
        "gone",
        "phases:\n- id: a\n  steps:\n  - {id: x, node: workflow-run, params: {workflow: '${params.w}', task: x}}\n",
    )
    gone = project.json("run", "gone", "--agent", "scripted", "--param", "w=nope", code=1)
    assert "there is no workflow `nope`" in gone["error"]


def test_a_nested_flow_has_its_time_limit_and_its_attempts(project: Project) -> None:
    def nested(child: str, more: str) -> str:
        return (
            f"phases:\n- id: a\n  steps:\n  - {{id: x, node: flow-run, params: {{fileName: {child}, k: v}}, {more}}}\n"
        )

    flow(project, "slow", "phases:\n- id: a\n  steps:\n  - {id: x, node: wait, params: {seconds: 60}}\n")
    flow(project, "limit", nested("slow", "timeout: 0.2"))
    assert project.json("run", "limit", code=3)["status"] == "failed"
    script = command("echo x >> log; test $(wc -l < log) -ge 3")
    flow(project, "flaky", f"phases:\n- id: a\n  steps:\n  - {{id: x, {script}}}\n")
    flow(project, "again", nested("flaky", "retry: {attempts: 3, wait: 0}"))
    assert project.json("run", "again")["status"] == "completed"


@pytest.mark.whole
def test_restart_keeps_existing_files_and_files_of_other_runs(project: Project) -> None:
    project.write("CHANGELOG.md", "precious\n")
    flow(
        project,
        "demo",
        f"phases:\n- id: a\n  steps:\n  - {{id: x, {command('echo more >> CHANGELOG.md')}, makes: [CHANGELOG.md]}}\n"
        f"  - {{id: y, {command('echo same > out.md')}, makes: [out.md]}}\n",
    )
    first, second = (project.json("run", "demo", "--scope", "s")["run"] for _ in range(2))
    said = project.run("restart", first)
    assert [line for line in said.err.splitlines() if "removed:" in line] == [
        "not removed: CHANGELOG.md (it was there before)",
        "not removed: out.md (another run published it later)",
    ]
    said = project.run("restart", second)
    assert [line for line in said.err.splitlines() if "removed:" in line] == [
        "not removed: CHANGELOG.md (it was there before)",
        "not removed: out.md (it was there before)",
    ]
    assert "precious" in (project.folder / "CHANGELOG.md").read_text()


@pytest.mark.whole
def test_restart_removes_a_file_that_two_steps_of_the_run_wrote(project: Project) -> None:
    flow(
        project,
        "demo",
        f"phases:\n- {{id: a, steps: [{{id: x, {command('echo a > out.md')}, makes: [out.md]}}]}}\n"
        f"- {{id: b, steps: [{{id: y, {command('echo b >> out.md')}, makes: [out.md]}}]}}\n",
    )
    run = project.json("run", "demo")["run"]
    assert "removed: out.md\n" in project.run("restart", run).err
    assert "not removed: out.md (it was there before)\n" in project.run("restart", run, "--from", "b").err
    assert (project.folder / "out.md").read_text() == "a\nb\nb\n"


@pytest.mark.whole
def test_restart_removes_a_file_that_a_failed_attempt_of_the_run_left(project: Project) -> None:
    script = command("echo x >> log; cp log out.md")
    proof = "expect: [{run: 'test $(wc -l < log) -ge 2'}]"
    flow(project, "demo", f"phases:\n- id: a\n  steps:\n  - {{id: x, {script}, makes: [out.md], {proof}}}\n")
    run = project.json("run", "demo", code=1)["run"]
    assert project.json("restart", run)["status"] == "completed"
    assert "removed: out.md\n" in project.run("restart", run).err.splitlines(keepends=True)
    project.write("out.md", "edited by hand\n")
    assert "not removed: out.md (it was changed since)\n" in project.run("restart", run).err


def test_restart_keeps_a_file_that_another_run_made_between_two_attempts(project: Project) -> None:
    script = command("echo x >> log; cp log out.md")
    flow(project, "demo", f"phases:\n- id: a\n  steps:\n  - {{id: x, {script}, makes: [out.md]}}\n")
    first = project.json("run", "demo")["run"]
    (project.folder / "out.md").unlink()
    project.json("run", "demo")
    project.json("restart", first)
    assert "not removed: out.md (it was there before)\n" in project.run("restart", first).err


def test_restart_from_a_lane_does_not_change_the_previous_attempt(project: Project) -> None:
    steps = (
        f"{{id: {i}, steps: [{{id: x, {command(do)}}}]}}" for i, do in (("a", "echo a >> log"), ("b", "test -f ready"))
    )
    lanes = f"[{', '.join(steps)}]"
    flow(project, "demo", f"phases:\n- {{parallel: {{limit: 2, onFailure: finish}}, phases: {lanes}}}\n")
    id_ = project.json("run", "demo", code=1)["run"]
    before = project.json("log", id_)["events"]
    project.write("ready", "")
    assert project.json("restart", id_, "--from", "b")["status"] == "completed"
    assert (project.folder / "log").read_text() == "a\n"
    old = next((project.home / "state" / "runs").rglob(id_)) / "1" / "journal"
    assert old.read_text().count('"path"') == sum("path" in event for event in before)


def test_restart_takes_new_defaults(project: Project) -> None:
    text = "params: {n: {default: 1}}\nphases:\n- id: a\n  steps:\n  - {id: x, node: set, params: {n: '${params.n}'}}\n"
    flow(project, "demo", text)
    id_ = project.json("run", "demo")["run"]
    flow(project, "demo", text.replace("default: 1", "default: 5"))
    assert values(project.json("restart", id_)) == [{"n": 5}]


def test_a_form_with_rerun_never_can_be_answered(project: Project) -> None:
    form = "node: user-input, params: {formId: f, title: timeout policy, fields: [{id: x, type: boolean, label: X}]}"
    flow(project, "demo", f"phases:\n- id: a\n  steps:\n  - {{id: ask, rerun: never, {form}}}\n")
    waiting = project.json("run", "demo", code=4)
    project.write("yes.json", '{"x": true}')
    assert project.json("answer", waiting["run"], "--file", "yes.json")["status"] == "completed"


@pytest.mark.whole
def test_a_limit_that_reset_in_the_past_is_not_retried_in_a_tight_loop(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    once = "- {tool: bash, input: {command: 'echo x >> tries; test $(wc -l < tries) -lt 4 || touch enough'}}\n"
    project.write(
        "script.yaml", f"{once}- {{fail: rate-limit, message: m, resetsIn: -5, unless: enough}}\n- say: done\n"
    )
    flow(project, "ask", "phases:\n- id: a\n  steps:\n  - {id: x, node: llm-prompt, prompt: Go.}\n")
    data = project.json("run", "ask", "--agent", "scripted")
    assert data["status"] == "completed"
    delays = [event for event in project.json("log", data["run"])["events"] if event["type"] == "Delayed"]
    waits = [round(delay["until"] - delay["time"], 1) for delay in delays]
    assert waits == [0.1, 0.2, 0.4], "it waits longer each time"


def test_an_expectation_is_checked_again_on_resume(project: Project) -> None:
    expect = "expect: [{kind: require-file, path: none, when: {not: {exists: skip}}, message: m}]"
    flow(project, "demo", f"phases:\n- id: a\n  steps:\n  - {{id: x, node: set, {expect}}}\n")
    id_ = project.json("run", "demo", code=1)["run"]
    project.write("skip", "")
    assert project.json("resume", id_)["status"] == "completed"


def test_invalid_options_are_refused_before_a_run_starts(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "very-secret-value")
    flow(project, "demo", "phases:\n- {id: a, steps: [{id: x, node: set}]}\n- {id: b, steps: [{id: y, node: set}]}\n")
    for argv, words in (
        (("--from", "b", "--until", "a"), "comes before"),
        (("--agent", "scriptd"), "there is no agent `scriptd`"),
        (("--scope", "very-secret-value"), "contains the value of the secret `MY_TOKEN`"),
        (("--answers", "nofile"), "nofile"),
    ):
        said = project.run("run", "demo", *argv)
        assert (said.code, words in said.err) == (2, True), said
    assert project.json("runs")["runs"] == []


@pytest.mark.whole
def test_a_stop_before_the_driver_starts_is_not_undone(project: Project) -> None:
    flow(project, "demo", f"phases:\n- id: a\n  steps:\n  - {{id: x, {command('echo a >> log; sleep 30')}}}\n")
    id_ = project.json("run", "demo", "--detach")["run"]
    assert project.json("runs")["runs"][0]["driver"] is not None
    project.json("stop", id_)
    assert project.run("resume", id_, "--first").code == 1


@pytest.mark.whole
def test_a_command_that_times_out_leaves_no_process(project: Project) -> None:
    script = "setsid sleep 77 & echo $! > pid; sleep 78"
    flow(project, "demo", f"phases:\n- id: a\n  steps:\n  - {{id: x, timeout: 1, {command(script)}}}\n")
    project.json("run", "demo", code=3)
    pid = int((project.folder / "pid").read_text())
    line = Path(f"/proc/{pid}/cmdline")
    assert not line.exists() or b"77" not in line.read_bytes()


def test_a_damaged_run_does_not_hide_the_others(project: Project) -> None:
    flow(project, "demo", "phases:\n- {id: a, steps: [{id: x, node: set}]}\n")
    first, second = (project.json("run", "demo")["run"] for _ in range(2))
    (next((project.home / "state" / "runs").rglob(first)) / "1" / "about").write_text("{")
    assert {run["run"]: run["status"] for run in project.json("runs")["runs"]} == {first: "failed", second: "completed"}


def test_single_flow_files_are_validated_with_the_projects_schemas(project: Project) -> None:
    project.write(".handrail/schemas/point.json", "{}")
    flow(
        project, "demo", "phases:\n- id: a\n  steps:\n  - {id: x, node: set, makes: [{path: p.json, schema: point}]}\n"
    )
    assert project.json("validate", ".handrail/flows/demo.yaml")["problems"] == []
    flow(project, "bad", "phases:\n- {id: a, steps: [{id: x, node: sett}]}\n")
    codes = [p["code"] for p in project.json("validate", ".handrail/flows/bad.yaml", code=2)["problems"]]
    assert codes == ["node-unknown"]
