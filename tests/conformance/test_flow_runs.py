"""Whole runs of flows on the embedded engine: statuses in order, values, and how the run ended."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from conformance import corpus
from conformance.test_flow_specs import KNOWN
from handrail.base import journal
from handrail.driven.engines.embedded.durable_run import DurableRun
from handrail.driven.engines.embedded.run_journal import Ledger
from handrail.driven.flows.load import load_flow
from handrail.driven.flows.plan import FlowPlan
from handrail.driven.flows.results import FlowResult
from handrail.driven.runs import run_events
from handrail.driven.runs.interpreter import FlowFailed, Interpreter
from handrail.driven.runs.state import StepState
from handrail.extensions.contracts import Node, NodeContext, NodeError, NodeKind, Outside, Work
from handrail.extensions.registry import Registry
from handrail.settings.secrets import Secrets
from handrail.source.definition_files import Source

DONE_LATER = "the step stays running in AgentWeaver; in Handrail it is failed (A-5)"


class TestNode:
    """The nodes that the cases are written for."""

    __test__ = False
    NODE = Node(about="", others="used", open_outputs=True)

    async def run(self, work: Work, context: NodeContext) -> Any:
        assert context.project
        params = work.params
        match work.node:
            case "noop":
                return {}
            case "scalar":
                return params["value"]
            case "fail":
                raise NodeError("failed", params["message"])
            case "touch":
                Path(params["path"]).write_text(params.get("text", ""))
                return {"path": params["path"]}
            case "selfcheck":
                if work.own_checks and not os.path.exists(params["path"]):
                    raise NodeError("failed", f"{params['path']} is missing")
                return params
            case "file-check":
                return {"exists": os.path.exists(params["path"])}
            case "read-file":
                return {"text": Path(params["path"]).read_text().strip()}
            case _:
                return params


NODES: dict[str, NodeKind] = dict.fromkeys(
    ("noop", "echo", "scalar", "fail", "need", "touch", "selfcheck", "file-check", "read-file"), TestNode()
)


def cases() -> list[Any]:
    file = corpus.folder() / "driven" / "runs.json"
    data = json.loads(file.read_text("utf-8")) if file.exists() else {"cases": []}
    return [pytest.param(case, data["childFlows"], id=case["id"]) for case in data["cases"]]


def plan(spec: Any, name: str) -> FlowPlan:
    found, problems = load_flow(Source(f"{name}.json", json.dumps(spec)), name, KNOWN)
    assert found is not None, problems
    return found


def drive(case: corpus.Case, children: dict[str, Any], folder: Path) -> tuple[DurableRun, FlowResult | FlowFailed]:
    text = json.dumps({"spec": case["spec"], "params": case["params"]}).replace("@TMP@", str(folder / "tmp"))
    given = json.loads(text)
    flows = {name: plan(spec, name) for name, spec in children.items()}
    (folder / "run" / "1").mkdir(parents=True)
    ledger = Ledger(str(folder / "run" / "1"), lambda: 0.0, Secrets({}))
    context = NodeContext(project=str(folder), env={}, registry=Registry())
    run = DurableRun(ledger, lambda: 0.0, Outside(nodes=NODES, context=context))
    interpreter = Interpreter(run, plan(given["spec"], "flow"), flows.get)
    try:
        interpreter.prepare(given["params"], {})
        return run, asyncio.run(interpreter.run())
    except FlowFailed as error:
        return run, error
    finally:
        ledger.close()


def trace(run: DurableRun) -> list[str]:
    """`PHASE=status` and `PHASE:STEP=status` of the flow itself, in order."""
    told: list[str] = []
    for record in journal.read(run.ledger.path).records:
        for data in record["events"]:
            event = run_events.event_from_json(data)
            path = getattr(event, "path", "").split("/")
            match event:
                case run_events.PhaseStarted() | run_events.PhaseDone() | run_events.PhaseSkipped() if len(path) == 1:
                    status = {"PhaseStarted": "running", "PhaseDone": "done"}.get(type(event).__name__, "skipped")
                    told.append(f"{path[0]}={status}")
                case run_events.StepStarted() | run_events.StepDone() | run_events.StepSkipped() if len(path) == 2:
                    status = {"StepStarted": "running", "StepDone": "done"}.get(type(event).__name__, "skipped")
                    told.append(f"{path[0]}:{path[1]}={status}")
                case _:
                    pass
    return told


@pytest.mark.parametrize(("case", "children"), cases())
def test_a_flow_runs_as_in_agentweaver(case: corpus.Case, children: dict[str, Any], tmp_path: Path) -> None:
    run, ended = drive(case, children, tmp_path)
    expect = case["expect"]
    assert trace(run) == expect["trace"]
    failed = "errorGist" in expect
    assert isinstance(ended, FlowFailed) is failed
    if isinstance(ended, FlowResult):
        assert (ended.stopped_by is not None) is expect["terminated"]
        assert ended.outcome == expect["outcome"]
        assert expect["reason"] == (f"Stopped by {ended.stopped_by}" if ended.stopped_by else None)
    else:
        assert ended.path.split("/")[:2] == expect["currentStep"].split(":")
    assert run.state.summary == expect["summary"]
    for phase in expect["phases"]:
        for step in phase["steps"]:
            compare(run.state.steps.get(f"{phase['id']}/{step['id']}"), step, tmp_path)


def compare(found: StepState | None, step: dict[str, Any], folder: Path) -> None:
    if step["status"] == "pending":
        assert found is None
        return
    assert found is not None
    assert found.status == ("failed" if step["status"] == "running" else step["status"]), DONE_LATER
    wanted = json.loads(json.dumps(step).replace("@TMP@", str(folder / "tmp")))
    if "outputs" in wanted and wanted["status"] == "done":
        assert found.value == wanted["outputs"]
    elif "value" in wanted:
        assert found.value == wanted["value"]
