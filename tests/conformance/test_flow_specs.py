"""Flow documents: accepted with their unrolled phases, or rejected for the same reason as by AgentWeaver."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Literal

import pytest

from conformance import corpus
from handrail.driven.artifacts.schemas import artifact_table, schema_ids
from handrail.driven.flows.load import load_flow
from handrail.driven.flows.load_state import FlowResources
from handrail.driven.flows.plan import FlowPlan
from handrail.driven.flows.prompts import PromptFile
from handrail.extensions.contracts import Node
from handrail.extensions.declarations import check_declarations, node_declarations
from handrail.extensions.registry import Registry
from handrail.source.definition_files import Source
from handrail.source.fields import ANYTHING, Field


def node(*required: str, prompt: Literal["forbidden", "optional", "required"] = "forbidden") -> Node:
    """A node of the cases. It takes any params and has any outputs."""
    params = tuple(Field(name, ANYTHING, "needed", required=True) for name in required)
    return Node(about="", params=params, others="used", open_outputs=True, prompt=prompt)


OURS_TOO = node_declarations(Registry())
NODES = {
    "noop": node(),
    "echo": node(prompt="optional"),
    "scalar": node(),
    "fail": node(),
    "need": node("alpha", "beta"),
    "ask": node(prompt="required"),
    "touch": node(),
    "selfcheck": node(),
    "llm-prompt": replace(node("labelText", prompt="required"), routed=True, must_route=("executor",)),
    **{name: OURS_TOO[name] for name in ("file-check", "read-file", "flow-run")},
}
TABLE = artifact_table()
KNOWN = FlowResources(
    nodes=NODES,
    checks=check_declarations(Registry()),
    prompts={"plan": PromptFile("builtin", "plan.md", "Plan {task}.")},
    artifact_kinds=frozenset(TABLE.kinds),
    artifact_lists=frozenset(TABLE.lists),
    schemas=schema_ids(),
)
FLOWS = {"plan.json"}

GISTS = {
    "version-invalid": {"wrong-type", "bad-value"},
    "kind-blank": {"blank-text"},
    "catalog-visibility-invalid": {"bad-value", "wrong-type"},
    "repeat-range-invalid": {"repeat-bounds"},
    "repeat-var-blank": {"repeat-var", "blank-text"},
    "phase-id-blank": {"blank-text"},
    "phase-id-duplicate": {"phase-id-twice"},
    "step-id-duplicate": {"step-id-twice"},
    "node-unknown": {"node-unknown"},
    "param-missing": {"param-missing"},
    "required-param-missing": {"param-missing"},
    "prompt-forbidden": {"prompt-forbidden"},
    "prompt-required": {"prompt-required"},
    "prompt-template-missing": {"prompt-template"},
    "template-ref-unknown": {"prompt-unknown"},
    "routing-group-not-allowed": {"routing-group"},
    "routing-group-unknown": {"bad-value"},
    "llm-needs-route": {"param-missing"},
    "value-form-unknown": {"value-form"},
    "condition-form-unknown": {"condition-form"},
    "artifact-kind-unknown": {"artifact-kind"},
    "artifact-list-kind-unknown": {"artifact-kind"},
    "expect-kind-unknown": {"expectation-unknown"},
    "after-kind-unknown": {"action-unknown"},
    "stop-outcome-invalid": {"bad-value"},
    "nested-flow-missing": {"flow-missing"},
    "ref-scope-unknown": {"ref-scope"},
    "step-ref-too-short": {"ref-short"},
    "step-ref-field-unknown": {"ref-field"},
    "step-ref-phase-unknown": {"ref-phase"},
    "step-ref-step-unknown": {"ref-step"},
    "step-ref-self": {"ref-self"},
    "step-ref-forward": {"ref-forward"},
}

OURS: dict[str, tuple[bool, str]] = {
    "spec-005": (True, "`kind` is optional; its default is the id of the flow"),
    "spec-010": (False, "a missing `phases` is a problem at its place, not a crash"),
    "spec-017": (False, "a missing `steps` is a problem at its place, not a crash"),
    "spec-021": (False, "a step without an id could not be referred to or resumed"),
    "spec-032": (False, "a name that every JavaScript object has is not a prompt"),
    "spec-041": (True, "null is a value"),
    "spec-056": (False, "`equals` with one side is a problem at its place, not a crash"),
    "spec-066": (False, "rejected as by AgentWeaver; the hint shows the right form"),
    "spec-071": (False, "references are checked inside every form (A-7)"),
    "spec-088": (False, "rejected as by AgentWeaver; the hint shows the right form"),
    "spec-092": (False, "rounds are whole numbers (A-7)"),
    "spec-094": (True, "repeats may be nested"),
    "spec-102": (False, "a blank flow name names no flow"),
}


def cases() -> list[Any]:
    file = corpus.folder() / "driven" / "specs.json"
    found = json.loads(file.read_text("utf-8"))["cases"] if file.exists() else []
    return [pytest.param(case, id=case["id"]) for case in found]


def load(spec: Any) -> tuple[FlowPlan | None, set[str]]:
    text = json.dumps(spec, indent=1)
    plan, problems = load_flow(Source("flow.json", text), "flow", KNOWN)
    codes = {problem.code for problem in problems if problem.severity == "error"}
    assert all(problem.line >= 1 and problem.message for problem in problems)
    if plan is not None and any(name not in FLOWS for name in plan.nested):
        return None, {"flow-missing"}
    return plan, codes


def unfolded(plan: FlowPlan) -> list[dict[str, Any]]:
    rows = []
    for phase in plan.phases:
        row: dict[str, Any] = {"id": phase.id, "steps": [step.id for step in phase.steps]}
        if phase.rounds:
            row["repeat"] = phase.rounds
        rows.append(row)
    return rows


@pytest.mark.parametrize("case", cases())
def test_a_flow_document_is_accepted_or_rejected_as_in_agentweaver(case: corpus.Case) -> None:
    plan, codes = load(case["spec"])
    expect = case["expect"].get("preferred") or case["expect"]
    if case["id"] in OURS:
        assert (plan is not None) is OURS[case["id"]][0], codes
    elif "seedQuirk" in case and "preferred" not in case["expect"]:
        assert plan is not None or codes
    elif expect["ok"]:
        assert plan is not None, codes
        assert unfolded(plan) == expect["expanded"]
    else:
        assert codes & GISTS.get(expect["gist"], codes), (expect["gist"], codes)
        assert plan is None
