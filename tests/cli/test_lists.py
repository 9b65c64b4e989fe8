"""Lists for people: aligned columns, with times."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from typing import Any

import pytest

from driven.runs.recorded import plain_state
from handrail.cli.output import in_colour
from handrail.driven.runs.life import stop_event
from handrail.driven.runs.summary import summarize
from handrail.view.text.columns import table
from support import Project

STEP = "{id: x, node: command, params: {argv: [test, -e, ready]}}"


def cells(text: str) -> list[list[str]]:
    """The rows of a printed table, without ids, times and durations."""
    text = re.sub(r"r-\w{6}", "r-1", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "NOW", text)
    text = re.sub(r"\b\d+\.\ds", "1s", text)
    return [re.split(r"  +", line.strip()) for line in text.splitlines()]


def test_runs_are_listed_with_time_duration_parameters_and_reason(project: Project) -> None:
    project.write(".handrail/flows/demo.yaml", f"params: {{task: null, n: 1}}\nphases: [{{id: a, steps: [{STEP}]}}]\n")
    project.run("run", "demo", "bake", "a", "cake", "--param", "n=3")
    project.write("ready", "")
    project.run("run", "demo", "tea")
    said = project.run("runs").out
    assert cells(said) == [
        ["RUN", "STARTED", "TOOK", "STATUS", "FLOW", "GIVEN", "WHY"],
        ["r-1", "NOW", "1s", "✓ completed", "demo", "tea"],
        ["r-1", "NOW", "1s", "✗ failed", "demo", "bake a cake n=3", "`test` ended with 1"],
    ]
    places = [line.index("demo") for line in said.splitlines()[1:]]
    assert len(set(places)) == 1


class Opened:
    """The names of the files that are opened while it is on."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.is_on = False
        sys.addaudithook(self.hear)  # it cannot be removed

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        if self.is_on and event == "open" and isinstance(args[0], str):
            self.names.append(os.path.basename(args[0]))


OPENED = Opened()


def test_a_list_of_runs_reads_one_summary_per_run_and_no_journal(project: Project) -> None:
    ask = "{id: x, node: user-input, params: {formId: f, title: Who, fields: [{id: who, type: text, label: Who}]}}"
    for name, step in (("demo", STEP), ("ask", ask)):
        project.write(f".handrail/flows/{name}.yaml", f"phases: [{{id: a, steps: [{step}]}}]\n")
    project.json("run", "demo", code=1)
    project.json("run", "ask", code=4)
    project.write("ready", "")
    project.json("run", "demo")
    OPENED.is_on = True
    rows = project.json("runs")["runs"]
    OPENED.is_on = False
    assert [row["status"] for row in rows] == ["completed", "waiting", "failed"]
    assert OPENED.names.count("summary") == 3
    assert not {"journal", "about"} & set(OPENED.names)


def test_sessions_are_aligned_and_done_looks_different_from_cancelled(project: Project) -> None:
    project.workflow("tiny", ["one"])
    for name in ("a", "longer-name", "c"):
        project.run("start", "tiny", "some work", "--session", name)
    project.run("next", "--session", "a")
    project.run("cancel", "--yes", "--session", "c")
    assert cells(project.run("sessions").out) == [
        ["SESSION", "STARTED", "STATUS", "WHERE", "TASK"],
        ["a", "NOW", "✓ done", "Tiny", "some work"],
        ["c", "NOW", "■ cancelled", "Tiny", "some work"],
        ["longer-name", "NOW", "● active", "Tiny > • One [1/1]", "some work"],
    ]


def test_artifacts_are_listed_with_the_step_that_made_them(project: Project) -> None:
    step = "{id: w, node: write-file, params: {path: a.md, text: x}, makes: [a.md]}"
    project.write(".handrail/flows/demo.yaml", f"phases: [{{id: a, steps: [{step}]}}]\n")
    project.run("run", "demo", "--scope", "s")
    head, row = cells(project.run("artifacts", "last").out)
    assert head == ["PATH", "MADE", "STEP", "ARTIFACT", "SHA256"]
    assert row[:3] == ["a.md", "NOW", "a/w"]


def test_a_column_that_is_always_empty_is_left_out_and_wide_characters_count_two() -> None:
    assert table([("a", "", "b"), ("計画", "", "c")]) == ["a     b", "計画  c"]


def test_a_sign_is_coloured_also_behind_a_time() -> None:
    assert in_colour("  ✓ a") == "  \x1b[32m✓\x1b[0m a"
    assert in_colour("12:00:00    ✗ a") == "\x1b[2m12:00:00\x1b[0m    \x1b[31m✗\x1b[0m a"
    assert in_colour("✓done") == "✓done"


def test_a_hidden_flow_runs_only_inside_other_flows(project: Project) -> None:
    step = "phases: [{id: a, steps: [{id: b, node: %s, params: {%s}}]}]\n"
    project.write(".handrail/flows/sub.yaml", "catalogVisibility: hidden\n" + step % ("set", "x: 1"))
    project.write(".handrail/flows/top.yaml", step % ("flow-run", "fileName: sub"))
    assert "(only inside other flows)" in project.run("list").out
    assert {row["id"]: row["visible"] for row in project.json("list")["flows"]} == {"sub": False, "top": True}
    said = project.run("run", "sub")
    assert said.code == 1
    assert "`sub` only runs inside other flows" in said.err
    assert project.run("run", "top").code == 0


def test_a_hidden_workflow_is_not_run_either(project: Project) -> None:
    project.workflow("w", ["a"], "show: workflows\n")
    said = project.run("run", "w", "task")
    assert said.code == 1
    assert "`w` only runs inside other workflows" in said.err


def test_a_running_run_took_as_long_as_it_is_driven_and_a_long_reason_is_cut(project: Project) -> None:
    events = [{"t": 7.0, "type": "RunStarted"}, {"t": 8.0, "type": "StepStarted", "path": "a/x"}]
    about = json.dumps({"flow": "f", "request": {"params": {}}})
    assert (summarize("r", about, plain_state(events), 1, driver=5).seconds or 0) > 1_000_000_000
    assert summarize("r", about, plain_state(events), 1, driver=None).seconds == 1.0
    step = f"{{id: x, node: set, expect: [{{file: a, message: {'m' * 400}}}]}}"
    project.write(".handrail/flows/demo.yaml", f"phases: [{{id: a, steps: [{step}]}}]\n")
    project.run("run", "demo")
    assert max(map(len, project.run("runs").out.splitlines())) < 220


def test_a_restarted_run_shows_the_time_of_all_attempts(project: Project) -> None:
    project.write(".handrail/flows/demo.yaml", f"phases: [{{id: a, steps: [{STEP}]}}, {{id: b, steps: [{STEP}]}}]\n")
    project.run("run", "demo")
    project.write("ready", "")
    for number, start in ((2, "a"), (3, "b")):
        (before,) = project.json("runs")["runs"]
        project.run("restart", "last", "--from", start)
        assert cells(project.run("runs").out)[1][2] == f"1s ({number} attempts)"
        (row,) = project.json("runs")["runs"]
        assert (row["attempt"], row["secondsAtLeast"]) == (number, False)
        assert row["seconds"] > before["seconds"]


def test_a_killed_run_is_marked_and_says_how_to_go_on(project: Project) -> None:
    step = "{id: x, node: command, params: {argv: [sh, -c, 'echo $PPID > pid; exec sleep 60']}}"
    project.write(".handrail/flows/demo.yaml", f"phases: [{{id: a, steps: [{step}]}}]\n")
    run = project.json("run", "demo", "--detach")["run"]
    pid = project.folder / "pid"
    while not pid.exists() or not pid.read_text().strip():
        pass
    os.kill(int(pid.read_text()), signal.SIGKILL)
    while project.json("runs")["runs"][0]["driver"] is not None:
        pass
    said = project.run("runs")
    assert cells(said.out)[1][2:4] == ["≥ 1s", "! interrupted"]
    assert f"`handrail resume {run}` resumes it" in said.err
    (row,) = project.json("runs")["runs"]
    assert (row["interrupted"], row["secondsAtLeast"], row["hint"]) == (True, True, f"handrail resume {run}")
    assert project.json("stop", run)["status"] == "cancelled"
    (row,) = project.json("runs")["runs"]
    assert (row["interrupted"], row["secondsAtLeast"], row["hint"]) == (False, True, None)


@pytest.mark.parametrize(
    ("by", "reason"),
    [
        ("person", "cancelled by a person"),
        ("script", "cancelled by a script"),
        ("agent:claude", "cancelled by the agent claude"),
        ("run:r-1", "cancelled by run r-1"),
        (None, "cancelled"),
    ],
)
def test_a_stopped_run_says_who_stopped_it(by: str | None, reason: str) -> None:
    assert (stop_event(by).reason, stop_event(by).by) == (reason, by)


@pytest.mark.whole
def test_a_script_that_stops_a_run_is_not_called_a_person(project: Project) -> None:
    ask = "{id: x, node: user-input, params: {formId: f, title: Who, fields: [{id: who, type: text, label: Who}]}}"
    project.write(".handrail/flows/ask.yaml", f"phases: [{{id: a, steps: [{ask}]}}]\n")
    run = project.json("run", "ask", code=4)["run"]
    said = project.process("stop", run, "--json")
    assert said.data["reason"].startswith("cancelled by ")
    assert said.data["reason"] != "cancelled by a person"  # a script, or an agent that runs the tests


@pytest.fixture
def used(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Three runs: one with an agent that reports what it used, one that reports only a part, one without an agent."""
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    agent = "phases: [{id: a, steps: [{id: x, node: scripted-prompt, prompt: {inlineTemplate: Do it.}}]}]\n"
    project.write(".handrail/flows/ask.yaml", agent)
    project.write(".handrail/flows/demo.yaml", f"phases: [{{id: a, steps: [{STEP}]}}]\n")
    project.write("script.yaml", "- {usage: {inputTokens: 1200, outputTokens: 30, usd: 0.5}}\n- {say: done}\n")
    project.json("run", "ask")
    project.write("script.yaml", "- {usage: {inputTokens: 10, usd: 0.25}}\n- {say: done}\n")
    project.json("run", "ask")
    project.json("run", "demo", code=1)
    return project


def test_the_list_of_runs_has_what_each_cost_and_the_totals(used: Project) -> None:
    head, *rows, totals = cells(used.run("runs").out)
    assert head == ["RUN", "STARTED", "TOOK", "STATUS", "FLOW", "COST", "GIVEN", "WHY"]
    assert [row[5] for row in rows[1:]] == ["≥ $0.25", "$0.50"]
    assert totals == ["3 runs, 1s, ≥ 1,210 tokens in, ≥ 30 out, ≥ $0.75"]
    head, *rows, totals = cells(used.run("runs", "--cost", "--flow", "ask").out)
    assert head[5:] == ["AGENTS", "IN", "OUT", "COST"]
    assert rows[1][5:] == ["scripted", "1,200", "30", "$0.50"]
    assert rows[0][5:] == ["scripted", "≥ 10", "unknown", "≥ $0.25"]


def test_programs_get_what_each_run_used_and_the_totals(used: Project) -> None:
    listed = used.json("runs")
    unknown = {"inputTokens": None, "outputTokens": None, "usd": None}
    assert [run["usage"] for run in listed["runs"]] == [
        unknown,
        {"inputTokens": 10, "outputTokens": None, "usd": 0.25},
        {"inputTokens": 1200, "outputTokens": 30, "usd": 0.5},
    ]
    assert [run["agents"] for run in listed["runs"]] == [[], ["scripted"], ["scripted"]]
    totals = {name: value for name, value in listed["totals"].items() if name != "seconds"}
    assert totals == {"runs": 3, "inputTokens": 1210, "outputTokens": 30, "usd": 0.75, "complete": False}
    assert used.json("runs", "--flow", "demo")["totals"]["usd"] is None


@pytest.mark.parametrize(
    ("options", "flows"),
    [
        (["--status", "failed"], ["demo"]),
        (["--status", "failed", "--status", "completed"], ["demo", "ask", "ask"]),
        (["--agent", "scripted"], ["ask", "ask"]),
        (["--agent", "codex"], []),
        (["--flow", "ask", "--status", "failed"], []),
        (["--since", "1h"], ["demo", "ask"]),
    ],
)
def test_the_list_has_only_the_runs_that_are_asked_for(used: Project, options: list[str], flows: list[str]) -> None:
    oldest = used.home / "state" / "runs"
    for file in oldest.glob(f"*/{used.json('runs')['runs'][-1]['run']}/summary"):
        file.unlink()
        (file.parent / "1" / "created").write_text("1000000000.0")
    assert [run["name"] for run in used.json("runs", *options)["runs"]] == flows
    if not flows:
        assert used.run("runs", *options).out == "no such runs in this project; `handrail runs` lists all\n"


def test_a_time_that_is_none_is_refused(project: Project) -> None:
    said = project.run("runs", "--since", "yesterday")
    assert (said.code, "`--since` has to be" in said.err) == (2, True)
