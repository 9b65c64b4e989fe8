"""What it takes to load a flow grows with the number of its steps. Counted in calls, not in time."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from handrail.driven.flows.load import flow_resources, load_flow
from handrail.extensions.registry import Registry
from handrail.source.definition_files import Source

FORMS = {
    "a phase per step": ("phases:\n", "- id: p{n}\n  steps:\n  - {{id: s, node: command, params: {{argv: [echo]}}}}\n"),
    "one phase": ("phases:\n- id: a\n  steps:\n", "  - {{id: s{n}, node: command, params: {{argv: [echo]}}}}\n"),
    "each reads the one before": (
        "phases:\n- id: a\n  steps:\n  - {id: s0, node: set, params: {x: 1}}\n",
        "  - {{id: s{n}, node: set, params: {{x: '${{steps.a.s{before}.outputs.x}}'}}}}\n",
    ),
    "each has a problem": ("phases:\n- id: a\n  steps:\n", "  - {{id: s{n}, node: comand}}\n"),
}


def calls(form: str, count: int) -> int:
    """How many functions are called to load a flow with so many steps."""
    head, step = FORMS[form]
    text = head + "".join(step.format(n=number, before=number - 1) for number in range(1, count + 1))
    found, known = 0, flow_resources(Registry())

    def count_call(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal found
        found += event in ("call", "c_call")

    sys.setprofile(count_call)
    try:
        load_flow(Source("big.yaml", text), "big", known)
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("form", FORMS)
def test_twice_the_steps_take_twice_the_calls(form: str) -> None:
    calls(form, 2)  # what is imported and compiled once
    assert calls(form, 300) < 2.1 * calls(form, 150)
