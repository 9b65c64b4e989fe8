"""Which commands a run allows in its state, and which steps remain after a resume, a rewind or a continue."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from conformance import corpus
from conformance.test_flow_specs import KNOWN
from handrail.base.errors import RefusedError
from handrail.driven.flows.load import load_flow
from handrail.driven.flows.plan import FlowPlan
from handrail.driven.runs import run_events
from handrail.driven.runs.life import done
from handrail.driven.runs.restart import first_unfinished
from handrail.driven.runs.run_events import Event
from handrail.driven.runs.run_rules import available_modes, phases_to_rewind
from handrail.driven.runs.state import RunState, fold
from handrail.source.definition_files import Source

NO_SCHEMA = "a continued run has the outcome of its new end, never the old one"


def cases() -> list[Any]:
    file = corpus.folder() / "driven" / "flow-state.json"
    data = json.loads(file.read_text("utf-8")) if file.exists() else {"cases": []}
    return [pytest.param(case, id=case["id"]) for case in data["cases"]]


def plan_of(phases: list[dict[str, Any]], state: dict[str, Any] | None) -> FlowPlan:
    rows = [{"id": p["id"], "steps": [{"id": s["id"], "node": "noop"} for s in p["steps"]]} for p in phases]
    rows = rows or [{"id": "a", "steps": []}]
    spec = {"kind": "demo-flow", "version": 1, "phases": rows}
    plan, problems = load_flow(Source("flow.json", json.dumps(spec)), "flow", KNOWN)
    assert plan is not None, problems
    may_go_on = bool(state and state.get("continuation", {}).get("continueEligible"))
    stopped = bool(state and state["executionState"]["terminated"])
    return replace(plan, again=("from-stop" if stopped else "again") if may_go_on else None)


def events_of(state: dict[str, Any] | None) -> list[Event]:
    """The journal of a run in this state."""
    if state is None:
        return []
    told: list[Event] = []
    executed = state["executionState"]
    by = (executed.get("terminationReason") or "").removeprefix("Stopped by ")
    for phase in executed["phases"]:
        at = phase["id"]
        if phase["status"] != "pending":
            told.append(run_events.PhaseStarted(at))
        for step in phase["steps"]:
            told += step_events(f"{at}/{step['id']}", step, stop=by == f"{at}:{step['id']}")
        if phase["status"] in ("done", "skipped"):
            told.append(run_events.PhaseDone(at) if phase["status"] == "done" else run_events.PhaseSkipped(at, ""))
    if executed["terminated"]:
        told.append(
            run_events.RunEnded("stopped", executed["terminationOutcome"], executed.get("terminationReason"), None)
        )
    elif state["status"] in ("completed", "blocked"):
        told.append(
            run_events.RunEnded("failed" if state["status"] == "blocked" else "completed", "success", None, None)
        )
    return told


def step_events(path: str, step: dict[str, Any], *, stop: bool) -> list[Event]:
    match step["status"]:
        case "done":
            made = run_events.NodeFinished(path, "input", 1, step.get("value"))
            return [run_events.StepStarted(path), made, run_events.StepDone(path, stop)]
        case "running":
            return [run_events.StepStarted(path), run_events.NodeStarted(path, "input", 1)]
        case "skipped":
            return [run_events.StepSkipped(path)]
        case _:
            return []


def state_after(events: list[Event]) -> RunState:
    return fold((0.0, event) for event in events)


def phases_to_do(run: RunState, plan: FlowPlan) -> list[tuple[str, list[tuple[str, str]]]]:
    """Each phase and step as a resumed run finds it: done, or to do."""

    def status(path: str) -> str:
        known = done(run, path)
        return known.status if known else "pending"

    return [(status(p.id), [(s.id, status(f"{p.id}/{s.id}")) for s in p.steps]) for p in plan.phases]


def wanted(expect: dict[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    phases = expect["executionState"]["phases"]
    return [(phase["status"], [(step["id"], step["status"]) for step in phase["steps"]]) for phase in phases]


@pytest.mark.parametrize("case", cases())
def test_a_run_can_be_resumed_as_in_agentweaver(case: corpus.Case) -> None:
    state, expect = case["state"], case["expect"]
    phases = case.get("orderedPhases") or (state["executionState"]["phases"] if state else [])
    plan, run = plan_of(phases, state), state_after(events_of(state))
    match case["op"]:
        case "availability":
            modes = available_modes(run, plan)
            assert modes == [name for name in ("resume", "continue", "restart") if expect[name]]
            assert (len(modes) > 1) is expect["mustChoose"]
        case "resume":
            run.apply(run_events.RunResumed("resume", [], None))
            assert phases_to_do(run, plan) == wanted(expect)
            assert (run.status, run.outcome) == ("running", "success"), NO_SCHEMA
        case "rewind":
            ids = [phase.id for phase in plan.phases]
            kept = plan.phases[: ids.index(case["target"])]
            behind = first_unfinished(run, kept)
            assert (behind is not None) is (expect.get("error") == "earlier-phase-incomplete")
            if behind is None:
                run.apply(run_events.RunResumed("restart", ids[ids.index(case["target"]) :], None))
                assert phases_to_do(run, plan) == wanted(expect)
        case "continue":
            is_loop = "loop" in state["executionState"]["flowKind"]
            plan = replace(plan, again="again" if is_loop else "from-stop")
            if expect.get("error"):
                with pytest.raises(RefusedError):
                    phases_to_rewind("r-1", run, plan)
            else:
                run.apply(run_events.RunResumed("continue", phases_to_rewind("r-1", run, plan), None))
                assert phases_to_do(run, plan) == wanted(expect)
