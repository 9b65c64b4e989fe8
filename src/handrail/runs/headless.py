"""Wraps a workflow in a flow of one step, so that it can be run, resumed, stopped and shown like any other flow."""

from __future__ import annotations

import json

from handrail.flows.found import FoundFlow
from handrail.flows.load import load_flow
from handrail.flows.reading import Known
from handrail.source.files import Source
from handrail.workflows.spec import WorkflowSpec


def workflow_as_flow(spec: WorkflowSpec, known: Known) -> FoundFlow:
    step = {"id": "run", "node": "workflow-run", "params": {"workflow": spec.key, "task": "${params.task}"}}
    flow = {
        "kind": "workflow",
        "description": spec.name,
        "params": {"task": {"required": True, "about": "the task for the workflow"}},
        "phases": [{"id": spec.key, "steps": [step]}],
    }
    text = json.dumps(flow, indent=1, ensure_ascii=False)
    file = f"workflow:{spec.key}"
    plan, problems = load_flow(Source(file, text), file, known)
    assert plan is not None, problems
    return FoundFlow(source="workflow", id=file, file=file, plan=plan, text=text)
