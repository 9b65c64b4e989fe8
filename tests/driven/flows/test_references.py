"""References into rounds that may not take place, and into the results of nested flows."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.driven.flows.catalog import read_flows
from handrail.driven.flows.load import flow_resources, load_flow
from handrail.extensions.registry import Registry
from handrail.source.definition_files import Source

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
    plan, problems = load_flow(Source("f.yaml", text), "f", flow_resources(Registry()))
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


CHAIN = """
phases:
- id: try-1
  steps: [{id: x, node: set, params: {ok: false}, stopFlowIf: STOP}]
- id: try-2
  when: WHEN
  steps: [{id: x, node: set, params: {ok: false}, stopFlowIf: STOP_2}]
- id: try-3
  when: {not: '${steps.try-2.x.outputs.ok}'}
  steps: [{id: y, node: set, params: {n: 1}}]
"""
OK = "'${steps.try-1.x.outputs.ok}'"


@pytest.mark.parametrize(
    ("stop", "when", "expected"),
    [
        (OK, f"{{not: {OK}}}", False),
        (f"{{equals: [{OK}, true]}}", f"{{equals: [{OK}, false]}}", False),
        (f"{{differs: [{OK}, true]}}", OK, False),
        (OK, OK, True),
        (f"{{equals: [{OK}, true]}}", f"{{equals: [{OK}, 3]}}", True),
        ("false", f"{{not: {OK}}}", True),
    ],
)
def test_a_step_is_not_skipped_if_the_opposite_of_its_condition_has_ended_the_flow(
    stop: str, when: str, expected: bool
) -> None:
    text = CHAIN.replace("STOP_2", OK.replace("try-1", "try-2")).replace("STOP", stop).replace("WHEN", when)
    plan, problems = load_flow(Source("f.yaml", text), "f", flow_resources(Registry()))
    assert plan is not None, problems
    assert ("ref-maybe-skipped" in {problem.code for problem in problems}) is expected, problems


def test_a_flow_that_may_be_ended_in_parallel_may_also_go_on() -> None:
    text = CHAIN.replace("STOP_2", "false").replace("STOP", OK).replace("WHEN", f"{{not: {OK}}}")
    text = text.replace("- id: try-1\n", "- id: try-1\n  parallel: 2\n")
    plan, problems = load_flow(Source("f.yaml", text), "f", flow_resources(Registry()))
    assert plan is not None, problems
    assert "ref-maybe-skipped" in {problem.code for problem in problems}


INNER = "phases: [{id: look, steps: [{id: lines, node: set, params: {n: 3}}]}]"
OUTER = """
phases:
- id: a
  steps:
  - {id: sub, node: flow-run, params: {fileName: inner}}
  - {id: x, node: set, params: {n: '${steps.a.sub.outputs.executionState.PATH}'}}
"""


def told(folder: Path, path: str) -> list[tuple[str, str, str | None]]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "inner.yaml").write_text(INNER, encoding="utf-8")
    (folder / "outer.yaml").write_text(OUTER.replace("PATH", path), encoding="utf-8")
    catalog = read_flows([("project", str(folder))], flow_resources(Registry()))
    return [(p.severity, p.message.partition("`: ")[2], p.hint) for p in catalog.problems]


@pytest.mark.parametrize(
    ("path", "message", "hint"),
    [
        ("phases.lok.steps.lines.outputs.n", "flow `inner` has no phase `lok`", "did you mean `look`?"),
        ("phases.1.status", "flow `inner` has no phase `1`", "known: look"),
        ("phases.look.steps.line", "phase `look` of `inner` has no step `line`", "did you mean `lines`?"),
        ("phases.look.lines", "a phase has no `lines`", "known: id, status, steps"),
        ("phases.look.steps.lines.output.n", "a step has no `output`", "did you mean `outputs`?"),
        ("look.lines", "`executionState` has no `look`", None),
    ],
)
def test_a_wrong_name_inside_a_nested_flow_is_found_at_load(
    tmp_path: Path, path: str, message: str, hint: str | None
) -> None:
    ((severity, said, advice),) = told(tmp_path, path)
    assert (severity, said) == ("error", message)
    assert hint is None or advice == hint


@pytest.mark.parametrize("path", ["phases.look.steps.lines.outputs.n", "phases.0.steps.0.value", "terminated"])
def test_a_value_inside_a_nested_flow_is_found_by_name_and_by_place(tmp_path: Path, path: str) -> None:
    assert told(tmp_path, path) == []


def test_in_a_flow_of_agentweaver_it_is_only_a_warning(tmp_path: Path) -> None:
    ((severity, *_),) = told(tmp_path / ".agentweaver" / ".flows", "phases.lok.status")
    assert severity == "warning"
