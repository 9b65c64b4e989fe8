"""Where a run stands, from its events as plain data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from driven.flows.everyflow import flow
from driven.runs.recorded import plain_state
from handrail.app import App
from handrail.driven.runs import run_events
from handrail.driven.runs.request import shape_of
from handrail.driven.runs.run_events import (
    AgentActed,
    Answered,
    Asked,
    Delayed,
    Event,
    FactFound,
    NodeFinished,
    NodeStarted,
    PhaseDone,
    PhaseSkipped,
    PhaseStarted,
    RunEnded,
    RunParked,
    RunResumed,
    RunStarted,
    SessionOpened,
    StepDone,
    StepFailed,
    StepStarted,
    UsageReported,
)
from handrail.driven.runs.run_rules import available_modes
from handrail.driven.runs.state import RunState, fold
from handrail.driven.runs.summary import Glance, Summary
from handrail.view.rows.run import RunTopic
from support import Project

SET = "node: set, params: {n: 1}"
FLOW = f"""
phases:
- {{id: plan, steps: [{{id: read, {SET}}}, {{id: think, {SET}}}]}}
- repeat: {{var: i, to: 3}}
  phases:
  - {{id: "fix-${{i}}", steps: [{{id: edit, {SET}}}]}}
- {{id: ship, steps: [{{id: push, {SET}}}]}}
"""
BEGIN = RunStarted("flow", "d", None)


def glance(*events: Event) -> dict[str, Any]:
    """What is known after these events. The first one is at 1, the next at 2, and so on."""
    plain = [{**run_events.event_to_json(event), "t": number + 1.0} for number, event in enumerate(events)]
    return Glance(plain_state(plain), shape_of(flow(FLOW))).to_json()


def test_a_run_at_work_names_its_place_as_written_its_round_and_what_it_does() -> None:
    found = glance(
        BEGIN,
        PhaseSkipped("plan", "not needed"),
        PhaseStarted("fix-2"),
        StepStarted("fix-2/edit"),
        NodeStarted("fix-2/edit", "i", 1),
        SessionOpened("fix-2/edit", "codex", "s"),
        AgentActed("fix-2/edit", "tool", "edit  src/cart.py\n"),
        UsageReported("fix-2/edit", {"inputTokens": 5, "outputTokens": None, "usd": 0.25}),
    )
    assert (found["place"], found["round"], found["doing"], found["who"]) == (
        ["fix", "edit"],
        [2, 3],
        "edit src/cart.py",
        "codex",
    )
    assert (found["done"], found["total"], found["last"]) == (2, 6, 8.0)
    assert found["usage"] == {"inputTokens": 5, "outputTokens": None, "usd": 0.25, "complete": False}
    assert found["delay"] is found["need"] is None


def test_a_run_is_delayed_only_if_nothing_else_goes_on_in_it() -> None:
    first = (BEGIN, PhaseStarted("plan"), StepStarted("plan/read"), Delayed("plan/read", 90.0, "quota of claude"))
    assert glance(*first)["delay"] == {"path": "plan/read", "until": 90.0, "reason": "quota of claude"}
    assert glance(*first, StepStarted("plan/think"))["delay"] is None
    assert glance(*first, NodeStarted("plan/read", "i", 2))["delay"] is None


def test_the_oldest_open_question_is_what_is_needed() -> None:
    form = {"title": "Release?", "fields": [{"id": "a"}, {"id": "b"}]}
    asked = (
        BEGIN,
        StepStarted("plan/read"),
        StepStarted("plan/think"),
        Asked("plan/think", "d", form, "q-1"),
        Asked("plan/read", "d", {"title": "Sure?"}, "q-2"),
        RunParked("plan/think", "waits"),
    )
    found = glance(*asked)
    assert found["need"] == {
        "count": 2,
        "id": "q-1",
        "path": "plan/think",
        "kind": "form",
        "title": "Release?",
        "fields": 2,
        "since": 4.0,
    }
    assert found["place"] == ["plan", "think"]
    assert glance(*asked, StepDone("plan/think", stop=False))["need"]["title"] == "Sure?"


def test_a_failed_run_stands_where_it_failed_until_it_is_resumed() -> None:
    failed = (
        BEGIN,
        PhaseStarted("plan"),
        StepStarted("plan/read"),
        StepFailed("plan/read", "exit-code", "`sh` ended with 3"),
        RunEnded("failed", None, "exit-code at plan/read", "`sh` ended with 3", "exit-code"),
    )
    found = glance(*failed)
    assert (found["path"], found["code"], found["done"], found["modes"]) == (
        "plan/read",
        "exit-code",
        0,
        ["resume", "restart"],
    )
    again = glance(*failed, RunResumed("resume", [], None), StepStarted("plan/read"), StepDone("plan/read", stop=False))
    assert (again["code"], again["done"]) == (None, 1)


STOPS = """
params: {go: no}
continue: from-stop
phases:
- {id: a, steps: [{id: one, node: set, params: {x: 1}}, {id: two, when: false, node: set, params: {x: 1}}]}
- {id: b, when: false, steps: [{id: one, node: set, params: {x: 1}}]}
- id: c
  steps: [{id: ask, node: user-input, params: {formId: f, title: Go?, fields: [{id: go, type: text, label: Go}]}}]
- {id: d, steps: [{id: end, node: set, params: {x: 1}, stopFlowIf: true}]}
- {id: e, steps: [{id: never, node: set, params: {x: 1}}]}
"""
READY = "{id: one, node: command, params: {argv: [test, -e, ready]}, retry: {attempts: 2, wait: 0}}"
FAILS = f"phases: [{{id: a, steps: [{READY}]}}]\n"
NESTED = "phases: [{id: call, steps: [{id: it, node: flow-run, params: {fileName: fails.yaml}}]}]\n"


def test_a_glance_agrees_with_the_rows_after_every_event(project: Project, tmp_path: Path) -> None:
    project.write(".handrail/flows/stops.yaml", STOPS)
    project.write(".handrail/flows/fails.yaml", FAILS)
    project.write(".handrail/flows/nested.yaml", NESTED)
    stops = project.json("run", "stops", code=4)["run"]
    project.json("answer", stops, "--file", str(project.write("answers.json", '{"go": "yes"}')))
    project.json("continue", stops)
    nested = project.json("run", "nested", code=1)["run"]
    project.write("ready", "")
    project.json("resume", nested)
    partial = project.json("run", "stops", "--from", "d", "--until", "d")["run"]
    app = App(str(project.folder), {"HANDRAIL_HOME": str(project.home), "HOME": str(tmp_path)})
    for id_ in (stops, nested, partial):
        run = app.runs.load(id_)
        state, shape = RunState(), json.loads(run.about.to_text())["shape"]
        topic = RunTopic(run.plan, run.find, run.attempt, {"name": "x"})
        for at, event in run.records:
            state.take(type(event).__name__, run_events.event_to_json(event), at)
            glance = Glance(state, shape).to_json()
            assert glance["modes"] == available_modes(state, run.plan)
            topic.take(at, event)
            head = topic.rows.get("head", "") or {}
            assert [glance[name] for name in ("done", "total")] == [head["done"], head["total"]]
            assert glance["usage"] == head["usage"]
        stored = next(summary for summary in app.runs.engine.summaries() if summary.id == id_)
        assert stored.glance == glance


@pytest.mark.parametrize("shape", [None, {}, {"phases": []}])
def test_without_the_shape_of_the_flow_its_facts_are_not_known(shape: dict[str, Any] | None) -> None:
    events = (BEGIN, PhaseStarted("a_2"), StepStarted("a_2/b"), PhaseDone("a_2"))
    facts = Glance(fold((1.0, event) for event in events), shape).to_json()
    assert (facts["total"], facts["round"], facts["place"], facts["modes"]) == (
        None,
        None,
        ["a_2", "b"],
        ["resume", "restart"],
    )


def test_a_step_that_waits_for_a_point_in_time_delays_its_run_also_after_a_resume() -> None:
    path = "plan/read"
    begun = (BEGIN, PhaseStarted("plan"), StepStarted(path), NodeStarted(path, "i", 1))
    waits = (*begun, FactFound(path, "wait", "until", "90", 94.0))
    assert glance(*waits)["delay"] == {"path": path, "until": 94.0, "reason": "waits"}
    assert glance(*waits, RunResumed("resume", [], None), NodeStarted(path, "i", 1))["delay"]["until"] == 94.0
    assert glance(*waits, NodeFinished(path, "i", 1, {}))["delay"] is None


def test_only_a_no_to_an_approval_is_a_rejection() -> None:
    approval = {"formId": "approve", "fields": [{"id": "approved", "type": "boolean"}]}
    for form, told in ((approval, "rejected: not now"), ({"formId": "own", "fields": []}, None)):
        events: list[Event] = [
            BEGIN,
            StepStarted("a/b"),
            Asked("a/b", "i", form, "q1"),
            Answered("a/b", "i", {"approved": False, "reason": "not now"}, "q1"),
            StepDone("a/b", stop=True),
            RunEnded("stopped", "stopped", "Stopped by a:b", None, "stop-flow-if"),
        ]
        assert glance(*events)["rejected"] == told


def test_a_run_that_waits_for_a_time_is_delayed_in_lists_too() -> None:
    delay = {"path": "plan/read", "until": 90.0, "reason": "quota of claude"}
    listed = Summary("r", "f", "running", 5, "", None, glance={"delay": delay})
    assert listed.shown_status == "delayed"
    assert listed._replace(glance={"delay": None}).shown_status == "running"
