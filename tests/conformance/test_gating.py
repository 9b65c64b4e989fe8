"""Whether a tool is allowed at a position, or blocked with a reason."""

from __future__ import annotations

from conformance import corpus, differences, reference
from handrail import STEP_TOOL
from handrail.extensions.contracts.messages import Verdict
from handrail.guided.sessions import words
from handrail.guided.sessions.gate import undecided, verdict
from handrail.guided.sessions.machine import State
from handrail.guided.workflows import rules
from handrail.guided.workflows.plan import locate
from handrail.guided.workflows.spec import compile_plan


@corpus.every("gating")
def test_a_tool_call_is_allowed_or_blocked_as_in_pi_workflows(case: corpus.Case) -> None:
    found = judge(case)
    expected = differences.expected(case)
    if is_undecidable(case):
        expected = {"blocked": case["tool"] != STEP_TOOL, **differences.documented(case)}
    elif differences.is_open(case):
        expected = {"blocked": is_active(case) and reference.is_blocked(*place(case), case["tool"])}
    assert found["allow"] is not expected["blocked"]
    if "reason" in expected:
        assert found["reason"] == expected["reason"]
    for word in expected.get("reasonMentions", ()):
        assert word in (found["reason"] or "")


def is_undecidable(case: corpus.Case) -> bool:
    """True if a workflow is active at a position that its definitions do not have."""
    return is_active(case) and not reference.exists(whole_specs(case), position(case))


def is_active(case: corpus.Case) -> bool:
    return bool(case["path"]) and case.get("active", True)


def position(case: corpus.Case) -> reference.Path:
    return [(key, index) for key, index in case["path"]]


def place(case: corpus.Case) -> tuple[reference.Specs, reference.Path]:
    specs = whole_specs(case)
    return specs, reference.enter(specs, position(case))


def whole_specs(case: corpus.Case) -> reference.Specs:
    specs, _ = rules.resolve(reference.found_in(case["definitions"]))
    return specs


def judge(case: corpus.Case) -> Verdict:
    """The verdict of a session: without an active workflow it allows all tools; an unknown position blocks them."""
    tool = case["tool"]
    if not is_active(case):
        return verdict(None, tool)
    specs, path = whole_specs(case), position(case)
    plan = compile_plan(specs, path[0][0]) if path[0][0] in specs else None
    at = None if plan is None else locate(plan, path)
    if plan is None or at is None:
        return undecided(tool, "the position is unknown", "S")
    return verdict(words.card_texts(plan, State("active", at))["gate"], tool)
