"""Stories of flows that Handrail drives: they run, fail, are killed and are resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.extensions import registry
from support import Project

LOG = "/bin/sh, -c, 'echo {} >> log'"


def flow(project: Project, name: str, text: str) -> None:
    project.write(f".handrail/flows/{name}.yaml", text)


def logged(project: Project) -> list[str]:
    path = project.folder / "log"
    return path.read_text().split() if path.exists() else []


def test_a_flow_runs_to_its_end_and_prints_its_results(project: Project) -> None:
    flow(
        project,
        "demo",
        "constants: {word: hi}\nphases:\n- id: a\n  steps:\n  - id: x\n    node: set\n"
        "    params: {n: 2, t: '${flow.word} ${params.who}'}\n"
        "  - id: y\n    node: set\n    params: {m: {add: ['${steps.a.x.outputs.n}', 1]}}\n",
    )
    data = project.json("run", "demo", "--param", "who=Ada")
    assert (data["status"], data["outcome"], data["error"]) == ("completed", "success", None)
    steps = data["phases"][0]["steps"]
    assert [step["value"] for step in steps] == [{"n": 2, "t": "hi Ada"}, {"m": 3}]
    assert [step["attempts"] for step in steps] == [1, 1]
    assert data["usage"] == {"inputTokens": None, "outputTokens": None, "usd": None}
    assert [run["run"] for run in project.json("runs")["runs"]] == [data["run"]]


def test_a_failed_run_resumes_at_the_failed_step(project: Project) -> None:
    flow(
        project,
        "demo",
        f"phases:\n- id: a\n  steps:\n  - id: x\n    node: command\n    params: {{argv: [{LOG.format('x')}]}}\n"
        "  - id: y\n    node: command\n    params: {argv: [test, -f, ready]}\n",
    )
    failed = project.json("run", "demo", code=1)
    assert failed["status"] == "failed"
    assert failed["phases"][0]["steps"][1]["status"] == "failed"
    assert "`test` ended with 1" in failed["error"]
    project.write("ready", "")
    assert project.json("resume", failed["run"])["status"] == "completed"
    assert logged(project) == ["x"]


def test_a_flow_that_stops_with_outcome_stopped_is_not_a_success(project: Project) -> None:
    flow(
        project,
        "demo",
        "phases:\n- id: a\n  steps:\n  - id: x\n    node: set\n    params: {done: true}\n"
        "    stopFlowIf: '${steps.a.x.outputs.done}'\n"
        "    stopFlowOutcome: stopped\n- id: b\n  steps:\n  - id: y\n    node: set\n",
    )
    data = project.json("run", "demo", code=1)
    assert (data["status"], data["outcome"], data["reason"]) == ("stopped", "stopped", "Stopped by a:x")
    assert [phase["status"] for phase in data["phases"]] == ["done", "skipped"]
    for said in (project.run("runs"), project.run("runs", "last"), project.run("log", "last")):
        assert "stopped by `a/x`" in said.out


def test_a_repeat_ends_when_its_condition_holds(project: Project) -> None:
    flow(
        project,
        "demo",
        f"phases:\n- repeat: {{var: i, max: 5, until: {{equals: ['${{repeat.i}}', 3]}}}}\n"
        f"  phases:\n  - id: 'round${{i}}'\n    steps:\n"
        f"    - id: x\n      node: command\n      params: {{argv: [{LOG.format('${i}')}]}}\n",
    )
    data = project.json("run", "demo")
    assert [phase["status"] for phase in data["phases"]] == ["done", "done", "done", "skipped", "skipped"]
    assert logged(project) == ["1", "2", "3"]


def test_parallel_steps_all_run_and_a_failure_is_reported(project: Project) -> None:
    steps = "".join(f"  - id: s{n}\n    node: command\n    params: {{argv: [{LOG.format(n)}]}}\n" for n in range(5))
    flow(project, "demo", f"phases:\n- id: a\n  parallel: 2\n  steps:\n{steps}")
    assert project.json("run", "demo")["status"] == "completed"
    assert sorted(logged(project)) == ["0", "1", "2", "3", "4"]
    flow(
        project,
        "bad",
        f"phases:\n- id: a\n  parallel: true\n  steps:\n{steps}  - id: f\n    node: command\n"
        f"    params: {{argv: ['false']}}\n",
    )
    assert project.json("run", "bad", code=1)["status"] == "failed"


def test_a_step_is_retried_as_often_as_it_says(project: Project) -> None:
    script = "echo x >> log; test $(wc -l < log) -ge 3"
    flow(
        project,
        "demo",
        f"phases:\n- id: a\n  steps:\n  - id: x\n    node: command\n    params: {{argv: [/bin/sh, -c, '{script}']}}\n"
        "    retry: {attempts: 5, wait: 0}\n",
    )
    data = project.json("run", "demo")
    assert data["phases"][0]["steps"][0]["attempts"] == 3


def test_a_time_limit_ends_the_run_with_its_own_exit_code(project: Project) -> None:
    flow(
        project,
        "demo",
        "phases:\n- id: a\n  steps:\n  - id: x\n    node: wait\n    params: {seconds: 60}\n    timeout: 0.2\n",
    )
    assert project.json("run", "demo", code=3)["status"] == "failed"


@pytest.mark.whole
def test_nested_flows_take_declared_parameters(project: Project) -> None:
    flow(
        project,
        "child",
        "params: {who: {required: true}}\nphases:\n- id: c\n  steps:\n  - id: x\n    node: set\n"
        "    params: {got: '${params.who}'}\n",
    )
    flow(
        project,
        "parent",
        "phases:\n- id: a\n  steps:\n  - id: sub\n    node: flow-run\n    params: {fileName: child, who: Ada}\n",
    )
    data = project.json("run", "parent")
    inner = data["phases"][0]["steps"][0]
    assert inner["status"] == "done"
    events = project.json("log", data["run"])["events"]
    assert any(
        e["type"] == "NodeFinished" and e["path"] == "a/sub/c/x" and e["value"] == {"got": "Ada"} for e in events
    )
    assert inner["value"]["executionState"]["phases"][0]["steps"][0]["value"] == {"got": "Ada"}
    flow(
        project,
        "wrong",
        "phases:\n- id: a\n  steps:\n  - id: sub\n    node: flow-run\n    params: {fileName: child, whom: Ada}\n",
    )
    codes = {problem["code"] for problem in project.json("validate", code=2)["problems"]}
    assert {"param-unknown", "param-missing"} <= codes
    late = "params: {fileName: {template: 'chi{x}', vars: {x: ld}}, whom: Ada}"
    flow(project, "wrong", f"phases:\n- id: a\n  steps:\n  - id: sub\n    node: flow-run\n    {late}\n")
    assert "no value for `who`" in project.json("run", "wrong", code=1)["error"]


def test_a_run_keeps_the_flow_it_began_with(project: Project) -> None:
    one = (
        "phases:\n- id: a\n  steps:\n  - id: x\n    node: set\n    params: {v: 1}\n"
        "  - id: y\n    node: command\n    params: {argv: [test, -f, ready]}\n"
    )
    flow(project, "demo", one)
    failed = project.json("run", "demo", code=1)
    flow(project, "demo", one.replace("v: 1", "v: 2").replace("id: x", "id: other"))
    project.write("ready", "")
    data = project.json("resume", failed["run"])
    assert [step["id"] for step in data["phases"][0]["steps"]] == ["x", "y"]
    assert data["phases"][0]["steps"][0]["value"] == {"v": 1}


def test_two_processes_cannot_drive_one_run(project: Project) -> None:
    flow(
        project,
        "demo",
        "phases:\n- id: a\n  steps:\n  - id: x\n    node: command\n"
        "    params: {argv: [/bin/sh, -c, 'touch begun; sleep 30']}\n",
    )
    handrail = str(Path(sys.executable).parent / "handrail")
    first = subprocess.Popen([handrail, "run", "demo", "--quiet"], stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        while not (project.folder / "begun").exists():
            assert first.poll() is None
        id_ = project.json("runs")["runs"][0]["run"]
        said = project.run("resume", id_)
        assert said.code == 1
        assert f"driven by process {first.pid}" in said.err
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()


@pytest.mark.parametrize("key", ["engine", '"engin\\x65"'])
def test_runs_are_those_of_the_engine_that_the_settings_name(
    project: Project, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setitem(registry.ENGINES, "memory", "driven.runs.memory_engine")
    project.write(".handrail/flows/f.yaml", "phases: [{id: a, steps: [{id: x, node: set, params: {y: 1}}]}]")
    project.json("run", "f")
    (embedded,) = project.json("runs")["runs"]
    project.write(".handrail/settings.yaml", f"{key}: memory\n")
    other = project.json("run", "f")["run"]
    assert [run["run"] for run in project.json("runs")["runs"]] == [other]
    project.write(".handrail/settings.yaml", "")
    assert project.json("runs")["runs"] == [embedded]
