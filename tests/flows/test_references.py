"""When a reference may look into a round that does not take place."""

from __future__ import annotations

import pytest

from handrail.flows.known import known_in
from handrail.flows.load import load_flow
from handrail.source.files import Source

FLOW = """
params: {files: {default: [a]}, others: {default: [b]}}
phases:
- repeat: {over: '${params.files}', max: 3}
  phases:
  - {id: 'first-${index}', steps: [{id: x, node: set, params: {n: 1}}]}
- repeat: {over: '${params.LIST}', max: 3}
  phases:
  - {id: 'second-${index}', steps: [{id: y, node: set, params: {n: '${steps.first-ROUND.x.outputs.n}'}}]}
"""


def warned(list_: str, round_: str) -> bool:
    text = FLOW.replace("LIST", list_).replace("ROUND", round_)
    plan, problems = load_flow(Source("f.yaml", text), "f", known_in())
    assert plan is not None, problems
    return "ref-maybe-skipped" in {problem.code for problem in problems}


def test_a_list_that_has_this_round_has_every_round_before() -> None:
    assert not warned("files", "1")
    assert not warned("files", "${index}")


@pytest.mark.parametrize("round_", ["2", "3"])
def test_a_list_that_has_a_first_item_may_have_no_further_one(round_: str) -> None:
    assert warned("files", round_)


def test_an_item_of_one_list_says_nothing_about_another_list() -> None:
    assert warned("others", "1")
