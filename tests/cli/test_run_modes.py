"""Stories of runs that are answered, stopped, continued and restarted, of partial runs, and of artifacts."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.cli.terminal import cancelling
from handrail.source.plain_text import caller_words
from support import Project

HANDRAIL = str(Path(sys.executable).parent / "handrail")
FORM = (
    "phases:\n- id: a\n  steps:\n"
    "  - id: before\n    node: command\n    params: {argv: [/bin/sh, -c, 'echo b >> log']}\n"
    "  - id: ask\n    node: user-input\n    params:\n      formId: who\n      title: Who?\n"
    "      fields:\n      - {id: name, type: text, label: Name, required: true}\n"
    "      outputFile: answers.json\n"
    "  - id: after\n    node: set\n    params: {hello: '${steps.a.ask.outputs.values.name}'}\n"
)


def flow(project: Project, name: str, text: str) -> None:
    project.write(f".handrail/flows/{name}.yaml", text)


def logged(project: Project) -> list[str]:
    path = project.folder / "log"
    return path.read_text().split() if path.exists() else []


def statuses(run: dict[str, Any]) -> list[str]:
    return [phase["status"] for phase in run["phases"]]


def command(script: str) -> str:
    return f"node: command, params: {{argv: [/bin/sh, -c, {json.dumps(script)}]}}"


def test_a_run_waits_for_an_answer_and_is_resumed_by_it(project: Project) -> None:
    flow(project, "demo", FORM)
    waiting = project.json("run", "demo", code=4)
    assert (waiting["status"], waiting["reason"]) == ("waiting", "Who?")
    assert [q["path"] for q in waiting["questions"]] == ["a/ask"]
    assert project.run("resume", waiting["run"]).code == 4
    assert "Name" in project.run("answer", waiting["run"], "--show").err
    project.write("mine.yaml", "name: Ada\n")
    data = project.json("answer", waiting["run"], "--file", "mine.yaml")
    assert data["status"] == "completed"
    assert data["phases"][0]["steps"][2]["value"] == {"hello": "Ada"}
    assert json.loads((project.folder / "answers.json").read_text())["values"] == {"name": "Ada"}
    assert logged(project) == ["b"]
    assert "does not wait for an answer" in project.run("answer", waiting["run"], "--file", "mine.yaml").err


def test_answers_can_come_from_a_file(project: Project) -> None:
    flow(project, "demo", FORM)
    project.write("answers.yaml", "who:\n  name: Ada\n")
    assert project.json("run", "demo", "--answers", "answers.yaml")["status"] == "completed"


def test_a_wrong_answer_is_reported_with_its_position_and_loses_no_work(project: Project) -> None:
    flow(project, "demo", FORM)
    id_ = project.json("run", "demo", code=4)["run"]
    project.write("mine.yaml", "name: ''\n")
    said = project.run("answer", id_, "--file", "mine.yaml")
    assert said.code == 2
    assert "mine.yaml:1:7: `name`" in said.err
    project.write("mine.yaml", "name: Ada\n")
    assert project.json("answer", id_, "--file", "mine.yaml")["status"] == "completed"


def test_a_waiting_branch_lets_the_others_finish(project: Project) -> None:
    form = "node: user-input, params: {formId: f, title: T, fields: [{id: x, type: boolean, label: X}]}"
    flow(
        project,
        "demo",
        "phases:\n- id: a\n  parallel: true\n  steps:\n"
        f"  - {{id: ask, {form}}}\n  - {{id: work, {command('echo w >> log')}}}\n",
    )
    waiting = project.json("run", "demo", code=4)
    assert [step["status"] for step in waiting["phases"][0]["steps"]] == ["running", "done"]
    project.write("yes.json", '{"x": true}')
    assert project.json("answer", waiting["run"], "--file", "yes.json")["status"] == "completed"
    assert logged(project) == ["w"]


def test_a_run_with_until_ends_after_that_phase_and_can_be_resumed(project: Project) -> None:
    steps = "".join(f"- {{id: {id_}, steps: [{{id: x, {command(f'echo {id_} >> log')}}}]}}\n" for id_ in "abc")
    flow(project, "demo", f"phases:\n{steps}")
    part = project.json("run", "demo", "--until", "b")
    assert (part["status"], statuses(part)) == ("completed", ["done", "done", "pending"])
    assert statuses(project.json("resume", part["run"])) == ["done", "done", "done"]
    assert logged(project) == ["a", "b", "c"]
    late = project.json("run", "demo", "--from", "c")
    assert statuses(late) == ["skipped", "skipped", "done"]
    assert logged(project) == ["a", "b", "c", "c"]
    said = project.run("run", "demo", "--from", "bb")
    assert said.code == 2
    assert "did you mean `b`" in said.err


def test_a_dry_run_prints_what_would_happen_and_runs_no_step(project: Project) -> None:
    flow(project, "demo", f"phases:\n- id: a\n  steps:\n  - {{id: x, {command('echo x >> log')}}}\n")
    said = project.run("run", "demo", "--dry-run")
    assert said.code == 0
    assert "a/x" in said.out or "x" in said.out
    assert project.json("run", "demo", "--dry-run")["dryRun"] is True
    assert logged(project) == []
    assert project.json("runs")["runs"] == []


@pytest.mark.whole
def test_a_run_in_the_background_is_watched_and_stopped(project: Project) -> None:
    flow(project, "demo", f"phases:\n- id: a\n  steps:\n  - {{id: x, {command('echo $$ > pid; sleep 60')}}}\n")
    id_ = project.json("run", "demo", "--detach")["run"]
    while not (project.folder / "pid").exists() or not (project.folder / "pid").read_text().strip():
        assert project.json("runs")["runs"][0]["status"] == "running"
    pid = int((project.folder / "pid").read_text())
    stopped = project.json("stop", id_, code=0)
    assert (stopped["status"], stopped["reason"].split(" by ")[0]) == ("cancelled", "cancelled")
    assert not Path(f"/proc/{pid}").exists()
    assert project.run("stop", id_).code == 1
    assert '"RunEnded"' in project.run("log", id_, "--follow", "--events").out


@pytest.mark.whole
def test_ctrl_c_kills_the_programs_and_the_run_can_be_resumed(project: Project) -> None:
    script = "echo $$ > pid; test -f ready || sleep 60"
    flow(project, "demo", f"phases:\n- id: a\n  steps:\n  - {{id: x, rerun: safe, {command(script)}}}\n")
    started = subprocess.Popen(
        [HANDRAIL, "run", "demo"], cwd=project.folder, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while not (project.folder / "pid").exists() or not (project.folder / "pid").read_text().strip():
        assert started.poll() is None
    pid = int((project.folder / "pid").read_text())
    os.kill(started.pid, signal.SIGINT)
    try:
        _, err = started.communicate(timeout=60)
    finally:
        started.kill()
    assert started.returncode == 130
    assert "handrail resume" in err
    assert not Path(f"/proc/{pid}").exists()
    id_ = project.json("runs")["runs"][0]["run"]
    assert "cancelled by a signal (SIGINT)" in project.run("log", id_).out
    project.write("ready", "")
    assert project.json("resume", id_)["status"] == "completed"


@pytest.mark.parametrize(
    ("number", "is_attended", "by"),
    [
        (signal.SIGINT, True, "the person at the terminal"),
        (signal.SIGINT, False, "a signal (SIGINT)"),
        (signal.SIGTERM, True, "a signal (SIGTERM)"),
        (signal.SIGHUP, True, "a signal (SIGHUP)"),
    ],
)
def test_a_signal_cancels_what_runs_and_it_is_known_who_sent_it(
    number: signal.Signals, is_attended: bool, by: str
) -> None:
    async def story() -> str:
        with cancelling(is_attended=is_attended) as ended_by:
            assert ended_by() == ""
            os.kill(os.getpid(), number)
            with pytest.raises(asyncio.CancelledError):
                await asyncio.sleep(60)
            return ended_by()

    assert caller_words(asyncio.run(story())) == by


@pytest.mark.whole
def test_a_flow_that_allows_it_can_be_continued(project: Project) -> None:
    text = (
        f"continue: HOW\nphases:\n- {{id: a, steps: [{{id: x, {command('echo a >> log')}}}]}}\n"
        f"- id: b\n  steps:\n  - {{id: y, {command('echo b >> log')}, stopFlowIf: {{not: {{exists: go}}}}}}\n"
        f"- {{id: c, steps: [{{id: z, {command('echo c >> log')}}}]}}\n"
    )
    flow(project, "stop", text.replace("HOW", "from-stop"))
    flow(project, "again", text.replace("HOW", "again"))
    flow(project, "no", text.replace("continue: HOW\n", ""))
    first, second, third = (project.json("run", name)["run"] for name in ("stop", "again", "no"))
    assert logged(project) == ["a", "b"] * 3
    assert "is already completed" in project.run("resume", first).err
    project.write("go", "")
    assert statuses(project.json("continue", first)) == ["done", "done", "done"]
    assert logged(project)[6:] == ["b", "c"]
    assert statuses(project.json("continue", second)) == ["done", "done", "done"]
    assert logged(project)[8:] == ["a", "b", "c"]
    assert "does not allow `handrail continue`" in project.run("continue", third).err
    assert "was not stopped by any step" in project.run("continue", first).err


def test_restart_uses_the_new_definition_and_prints_what_changed(project: Project) -> None:
    one = (
        f"phases:\n- {{id: a, steps: [{{id: x, {command('echo a >> log')}}}]}}\n"
        f"- {{id: b, steps: [{{id: y, {command('echo b >> log; test -f ready')}}}]}}\n"
    )
    flow(project, "demo", one)
    failed = project.json("run", "demo", code=1)["run"]
    flow(project, "demo", one.replace("echo b", "echo B") + f"- {{id: c, steps: [{{id: z, {command('true')}}}]}}\n")
    project.write("ready", "")
    said = project.run("restart", failed, "--from", "b")
    assert said.code == 0
    assert "since the last attempt, step `b/y` was changed" in said.err
    assert "since the last attempt, phase `c` was added" in said.err
    assert "kept: a" in said.err
    assert logged(project) == ["a", "b", "B"]
    view = project.json("runs", project.json("runs")["runs"][0]["run"])
    assert (view["attempt"], statuses(view)) == (2, ["done", "done", "done"])
    assert view["phases"][0]["steps"][0]["value"]["exitCode"] == 0
    assert project.json("restart", failed)["attempt"] == 3
    assert logged(project) == ["a", "b", "B", "a", "B"]


def test_restart_after_an_unfinished_phase_is_refused(project: Project) -> None:
    flow(
        project,
        "demo",
        f"phases:\n- {{id: a, steps: [{{id: x, {command('false')}}}]}}\n"
        f"- {{id: b, steps: [{{id: y, {command('true')}}}]}}\n",
    )
    id_ = project.json("run", "demo", code=1)["run"]
    said = project.run("restart", id_, "--from", "b")
    assert said.code == 1
    assert "phase `a`" in said.err
    assert f"handrail restart {id_} --from a" in said.err
    assert project.json("runs")["runs"][0]["attempt"] == 1


def test_published_files_are_removed_at_a_restart_unless_they_changed(project: Project) -> None:
    flow(
        project,
        "demo",
        "params: {text: {default: one}}\nphases:\n- id: a\n  steps:\n"
        "  - id: write\n    node: write-file\n    params: {path: out/plan.md, text: '${params.text}'}\n"
        "    makes: [out/plan.md]\n"
        "  - id: use\n    node: command\n    params: {argv: [cp, out/plan.md, out/copy.md]}\n"
        "    makes: [{path: out/copy.md, name: copy}, {path: out/none.md, required: false}]\n",
    )
    data = project.json("run", "demo", "--scope", "K-1")
    first, second = data["artifacts"]
    assert (first["id"], first["path"], first["version"]) == ("k-1:out/plan.md:v1", "out/plan.md", 1)
    assert (second["name"], second["inputs"]) == ("copy", ["k-1:out/plan.md:v1"])
    assert project.json("artifacts", data["run"])["artifacts"] == data["artifacts"]
    (project.folder / "out" / "copy.md").write_text("changed by a person")
    again = project.run("restart", data["run"])
    assert "removed: out/plan.md" in again.err
    assert "not removed: out/copy.md (it was changed since)" in again.err
    project.json("run", "demo", "--scope", "K-1", "--param", "text=two")
    assert "k-1:out/plan.md:v2" in project.run("artifacts", project.json("runs")["runs"][0]["run"]).out


def test_a_missing_or_invalid_artifact_fails_the_step(project: Project) -> None:
    project.write(".handrail/schemas/point.json", '{"type": "object", "required": ["x"]}')
    flow(
        project,
        "demo",
        "phases:\n- id: a\n  steps:\n  - id: x\n    node: set\n    makes: [none.md]\n",
    )
    assert "did not make `none.md`" in project.json("run", "demo", code=1)["error"]
    flow(
        project,
        "bad",
        "phases:\n- id: a\n  steps:\n  - id: x\n    node: write-file\n    params: {path: p.json, text: '{}'}\n"
        "    makes: [{path: p.json, schema: point}]\n",
    )
    assert "`p.json` does not match the schema `point`" in project.json("run", "bad", code=1)["error"]


def test_a_flow_sees_only_the_environment_variables_that_it_names(project: Project) -> None:
    flow(
        project,
        "demo",
        "env: [HOME]\nphases:\n- id: a\n  steps:\n  - id: x\n    node: set\n    params: {all: '${context.env}'}\n",
    )
    assert list(project.json("run", "demo")["phases"][0]["steps"][0]["value"]["all"]) == ["HOME"]


def test_rounds_over_a_list_know_their_item(project: Project) -> None:
    flow(
        project,
        "demo",
        "phases:\n- repeat: {over: '${params.files}', max: 3, parallel: 2}\n"
        "  phases:\n  - id: 'r${index}'\n    steps:\n"
        "    - id: x\n      node: set\n      params: {file: '${repeat.item}'}\n",
    )
    data = project.json("run", "demo", "--param", 'files=["a", "b"]')
    assert statuses(data) == ["done", "done", "skipped"]
    assert [p["steps"][0]["value"] for p in data["phases"][:2]] == [{"file": "a"}, {"file": "b"}]


def test_parallel_phases_all_finish_with_on_failure_finish(project: Project) -> None:
    bad, good = (
        f"{{id: {id_}, steps: [{{id: x, {command(do)}}}]}}" for id_, do in (("a", "false"), ("b", "echo b >> log"))
    )
    lanes = f"[{bad}, {good}]"
    flow(project, "demo", f"phases:\n- {{parallel: {{limit: 1, onFailure: finish}}, phases: {lanes}}}\n")
    assert project.json("run", "demo", code=1)["status"] == "failed"
    assert logged(project) == ["b"]


def test_a_step_that_was_stopped_says_which_other_step_failed(project: Project) -> None:
    wait = "while ! test -e gone; do sleep 0.1; done"
    lint, test = f"{{id: lint, {command('false')}}}", f"{{id: test, {command(wait)}}}"
    flow(project, "inner", f"phases:\n- {{id: i, parallel: 2, steps: [{test}, {{id: w, {command(wait)}}}]}}\n")
    nested = "{id: n, node: flow-run, params: {fileName: inner}}"
    flow(project, "demo", f"phases:\n- {{id: a, parallel: 3, steps: [{lint}, {test}, {nested}]}}\n")
    project.json("run", "demo", code=1)
    failed = [event for event in project.json("log", "last")["events"] if event["type"] == "StepFailed"]
    told = {event["path"]: event["message"] for event in failed if event["code"] == "cancelled"}
    assert told == dict.fromkeys(["a/test", "a/n", "a/n/i/test", "a/n/i/w"], "cancelled because `a/lint` failed")


def test_a_large_result_is_stored_in_a_file_and_read_again(project: Project) -> None:
    flow(
        project,
        "demo",
        f"phases:\n- id: a\n  steps:\n  - {{id: big, {command('seq 1 5000')}}}\n"
        f"  - {{id: y, {command('test -f ready')}}}\n"
        "  - id: z\n    node: set\n    params: {n: {length: '${steps.a.big.outputs.output}'}}\n",
    )
    id_ = project.json("run", "demo", code=1)["run"]
    project.write("ready", "")
    data = project.json("resume", id_)
    assert data["phases"][0]["steps"][2]["value"]["n"] == len(data["phases"][0]["steps"][0]["value"]["output"]) > 20000
    folder = next((project.home / "state" / "runs").rglob(id_))
    assert len(list((folder / "1" / "payloads").iterdir())) == 1
    assert (folder / "1" / "journal").stat().st_size < 5000


def test_a_run_is_found_by_the_beginning_of_its_id_or_by_last(project: Project) -> None:
    flow(project, "demo", "phases:\n- id: a\n  steps:\n  - {id: x, node: set}\n")
    first, second = project.json("run", "demo")["run"], project.json("run", "demo")["run"]
    assert project.json("artifacts", "last")["run"] == second
    assert project.json("artifacts", first[:-1])["run"] == first
    assert f"there is no run `{first}x`" in project.run("log", first + "x").err


def test_a_second_launch_names_the_run_that_is_not_finished(project: Project) -> None:
    step = "{id: x, node: command, params: {argv: [test, -e, ready]}}"
    flow(project, "demo", f"phases:\n- {{id: a, steps: [{step}]}}\n")
    flow(project, "who", FORM)
    assert "of this flow" not in project.run("run", "demo").err
    failed = project.json("runs")["runs"][0]["run"]
    said = project.run("run", "demo").err
    assert f"run {failed} of this flow is not finished (failed): `handrail resume {failed}` resumes it\n" in said
    waiting = project.json("run", "who", code=4)["run"]
    said = project.run("run", "who").err
    assert f"run {waiting} of this flow waits for an answer: `handrail answer {waiting}` answers it\n" in said
    project.json("stop", "last")
    project.write("ready", "")
    project.json("run", "demo")
    for name in ("demo", "who"):  # one is completed, a person stopped the other
        assert "of this flow" not in project.run("run", name).err
