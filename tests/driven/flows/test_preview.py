"""Previews of flows: known results are shown, unknown ones are shown with what they depend on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driven.flows.everyflow import CHILD, EVERY, flow
from handrail.driven.expressions.tree import (
    Comparison,
    Const,
    Default,
    Defined,
    Every,
    Expression,
    ExpressionScope,
    Items,
    PartialEvaluator,
    Ref,
)
from handrail.driven.flows.plan import FlowPlan
from handrail.driven.flows.preview import MAX_ROWS, PreviewPart, PreviewRow, preview, preview_lines, rows_to_json
from handrail.source.values import Unresolved


def truth(value: Expression) -> Items:
    return Items("truth", (value,))


def negation(condition: Expression) -> Items:
    return Items("not", (condition,))


SET = "node: set, params: {n: 1}"


def previewed(
    plan: FlowPlan,
    *others: FlowPlan,
    params: dict[str, Any] | None = None,
    files: Iterable[str] = (),
    part: PreviewPart | None = None,
) -> list[PreviewRow]:
    context = {"scope": "main", "env": {"TOKEN": "secret-value", "OTHER": "x"}}
    find = {other.id: other for other in others}.get
    return preview(plan, params or {}, context, lambda path: path in set(files), find, part)


def verdicts(rows: list[PreviewRow]) -> dict[str, str]:
    return {row.path: row.verdict for row in rows}


def text(rows: list[PreviewRow]) -> str:
    return "\n".join(line for row in rows for line in preview_lines(row))


def test_a_preview_shows_every_part_of_a_flow() -> None:
    params = {"go": True, "files": ["a.txt", "b.txt"]}
    assert (
        text(previewed(flow(EVERY), flow(CHILD, "child"), params=params))
        == """\
● first
    time limit: 60 s
  ● fetch: command
      argv: ["git", "fetch", ["a.txt", "b.txt"], "${context.env.TOKEN}"]
      tried up to 3 times
      time limit: 10 s
      expects require-file: path out.md; if not: it has to be there
      expects step-output: value ${steps.first.fetch.outputs.result}, equals true, when "x" exists
      makes out.md
      makes plan-hi.json as plan, if it exists
  ? ask: llm-prompt: depends on `steps.first.fetch`: ${steps.first.fetch.outputs.exitCode}
      labelText: think
      stops the flow if: ${steps.first.ask.outputs.result}
      prompt:
        Do hi
        for ${steps.first.fetch.value}

        and true
● each-1 (index = 1, file = a.txt, lane 1)
  ● show: read-file
      path: a.txt
● each-2 (index = 2, file = b.txt, lane 2)
  ● show: read-file
      path: b.txt
· each-3 (index = 3, file = null, lane 3): skipped, 2 < ${length of params.files} does not hold
● r1 (i = 1, steps in parallel, up to 2)
  ● t: set
      n: 2
  ● u: flow-run
      runs child
      who: hi
    ● c
      ● x: set
          got: hi
? r2 (i = 2, steps in parallel, up to 2): depends on `steps.r1.t`: not (${steps.r1.t.outputs.n} = true)
  ● t: set
      n: 3
  ● u: flow-run
      runs child
      who: hi
    ● c
      ● x: set
          got: hi
? last: depends on `out.md`: "out.md" exists
  ● sub: flow-run
      runs child
      who: ${steps.r1.t.value}
    ? c: depends on `params.who`: ${params.who}
      ● x: set
          got: ${params.who}"""
    )


def test_a_condition_that_is_known_to_be_false_skips_the_phase() -> None:
    plan = flow(f"phases:\n- {{id: a, when: '${{params.go}}', steps: [{{id: x, {SET}}}]}}\n")
    rows = previewed(plan, params={"go": False})
    assert [(row.path, row.verdict, row.why) for row in rows] == [("a", "skipped", "${params.go} does not hold")]


def test_a_condition_on_a_certainly_skipped_step_is_known() -> None:
    plan = flow(
        f"phases:\n- {{id: a, steps: [{{id: x, when: false, {SET}}}]}}\n"
        f"- {{id: b, when: {{equals: ['${{steps.a.x.status}}', skipped]}}, steps: [{{id: y, {SET}}}]}}\n"
    )
    assert verdicts(previewed(plan)) == {"a": "runs", "a/x": "skipped", "b": "runs", "b/y": "runs"}


def test_files_are_checked_only_until_a_step_may_have_run() -> None:
    plan = flow(
        f"phases:\n- {{id: a, when: {{exists: here}}, steps: [{{id: x, {SET}}}]}}\n"
        f"- {{id: b, when: {{exists: there}}, steps: [{{id: y, {SET}}}]}}\n"
    )
    rows = previewed(plan, files=["here"])
    assert verdicts(rows) == {"a": "runs", "a/x": "runs", "b": "depends", "b/y": "runs"}
    assert rows[2].on == ("there",)


def test_steps_after_a_certain_stop_are_not_reached() -> None:
    plan = flow(
        f"phases:\n- {{id: a, steps: [{{id: x, {SET}, stopFlowIf: '${{params.stop}}'}}, {{id: y, {SET}}}]}}\n"
        f"- {{id: b, steps: [{{id: z, {SET}}}]}}\n"
    )
    rows = previewed(plan, params={"stop": True})
    assert verdicts(rows) == {"a": "runs", "a/x": "runs", "a/y": "skipped", "b": "skipped"}
    assert rows[1].stops == "${params.stop}"
    assert rows[3].why == "`a/x` stops the flow first"
    assert set(verdicts(previewed(plan, params={"stop": False})).values()) == {"runs"}


def test_a_step_with_a_value_that_cannot_be_resolved_fails() -> None:
    plan = flow(
        "phases:\n- {id: a, steps: [{id: x, node: set, params: {n: '${params.gone}'}}]}\n"
        f"- {{id: b, steps: [{{id: y, {SET}}}]}}\n"
    )
    rows = previewed(plan)
    assert [(row.path, row.verdict, row.why) for row in rows] == [
        ("a", "runs", ""),
        ("a/x", "fails", "`params.gone`: there is no `gone`; `params` is empty"),
        ("b", "skipped", "`a/x` fails first"),
    ]


def test_a_nested_flow_that_is_missing_or_gets_wrong_params_fails() -> None:
    steps = "{id: x, node: flow-run, params: {fileName: '${params.name}', whom: Ada}}"
    plan = flow(f"phases:\n- {{id: a, steps: [{steps}]}}\n")
    child = flow(CHILD, "child")
    assert previewed(plan, params={"name": "none"})[1].why == "there is no flow `none`"
    assert (
        previewed(plan, child, params={"name": "child"})[1].why
        == "flow `child` has no value for `who`, and no param `whom`; did you mean `who`?"
    )


def test_environment_values_decide_conditions_and_are_never_shown() -> None:
    child = flow(CHILD, "child")
    plan = flow(
        "env: [TOKEN]\nphases:\n- id: a\n  when: {equals: ['${context.env.TOKEN}', secret-value]}\n  steps:\n"
        "  - {id: x, node: flow-run, params: {fileName: child, who: 'v${context.env.TOKEN}'}}\n"
        "- id: b\n  when: {all: [{equals: ['${steps.a.x.value}', '${context.env.TOKEN}']}]}\n  steps:\n"
        "  - {id: y, node: set, params: {t: '${context.env.TOKEN}'}}\n"
    )
    rows = previewed(plan, child)
    assert verdicts(rows)["a/x/c"] == "runs"
    assert "secret" not in text(rows)
    assert "secret" not in str(rows_to_json(rows))


def test_only_the_requested_phases_run() -> None:
    plan = flow("phases:\n" + "".join(f"- {{id: {name}, steps: [{{id: x, {SET}}}]}}\n" for name in "abcd"))
    rows = previewed(plan, part=PreviewPart(start="b", until="c"))
    assert [(row.path, row.verdict, row.why) for row in rows if row.kind == "phase"] == [
        ("a", "skipped", "the run starts after this phase"),
        ("b", "runs", ""),
        ("c", "runs", ""),
        ("d", "skipped", "the run ends before this phase"),
    ]


def _chain(length: int, steps: str) -> list[FlowPlan]:
    """Flows that each run the next one in every given step. The last flow runs no other."""
    runs = ", ".join(f"{{id: {id_}, node: flow-run, params: {{fileName: '${{flow.next}}'}}}}" for id_ in steps)
    text = "constants: {{next: f{}}}\nphases:\n- {{id: p, steps: [{}]}}\n"
    return [*(flow(text.format(n + 1, runs), f"f{n}") for n in range(length)), flow("phases: []\n", f"f{length}")]


def test_nested_flows_are_shown_up_to_the_maximum_depth() -> None:
    deepest = _chain(32, "a")
    assert previewed(deepest[0], *deepest)[-1].verdict == "runs"
    deeper = _chain(33, "a")
    assert previewed(deeper[0], *deeper)[-1].why == "flows are nested deeper than 32"


def test_a_preview_ends_even_if_nested_flows_multiply() -> None:
    plans = _chain(20, "ab")
    rows = previewed(plans[0], *plans)
    assert (len(rows), rows[-1].kind) == (MAX_ROWS + 1, "more")
    assert text(rows[-1:]) == "? there are more than 10000 phases and steps"


def test_only_the_last_conditions_of_many_rounds_are_shown() -> None:
    plan = flow(
        "phases:\n- repeat: {var: i, max: 5, until: '${steps.r${i}.x.outputs.n}'}\n"
        f"  phases: [{{id: 'r${{i}}', steps: [{{id: x, {SET}}}]}}]\n"
    )
    row = previewed(plan)[-2]
    assert row.on == ("steps.r2.x", "steps.r3.x", "steps.r4.x")
    assert row.why.endswith("not ${steps.r4.x.outputs.n}, and 1 more")


def test_text_from_definitions_cannot_control_a_terminal() -> None:
    plan = flow('phases:\n- {id: "a\\e[2J", steps: [{id: x, node: set, params: {n: "\\e]0;x\\a"}}]}\n')
    assert "\x1b" not in text(previewed(plan))


def test_rows_are_plain_data() -> None:
    step = rows_to_json(previewed(flow(CHILD, "child"), params={"who": "Ada"}))[1]
    assert step == {
        "kind": "step",
        "path": "c/x",
        "depth": 1,
        "id": "x",
        "verdict": "runs",
        "why": "",
        "on": [],
        "timeout": None,
        "node": "set",
        "group": None,
        "agent": None,
        "attempts": 1,
        "flow": None,
        "params": {"got": "Ada"},
        "unknown": [],
        "prompt": None,
        "expect": [],
        "makes": [],
        "stops": None,
    }


REFS = [Ref("params.yes"), Ref("params.no"), Ref("params.nothing"), Ref("params.gone"), Ref("steps.a"), Ref("steps.b")]
LEAVES = st.sampled_from([*REFS, Const(0), Const("text"), Const(None)])


def _composed(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        several.map(lambda items: Items("list", items)),
        several.map(lambda items: Items("concat", items)),
        several.map(Default),
        inner.map(truth),
        inner.map(lambda value: negation(truth(value))),
        inner.map(Defined),
        st.tuples(inner, inner).map(lambda sides: Comparison("equals", *sides)),
        st.tuples(several, st.booleans()).map(lambda pair: Every(tuple(map(truth, pair[0])), pair[1])),
    )


def _value(expression: Expression, steps: dict[str, Any]) -> Any:
    values = {"params": {"yes": 1, "no": "", "nothing": None}, "steps": steps}
    try:
        return expression.resolve(ExpressionScope(values, lambda _: False, lambda _: "", lambda _: []))
    except Unresolved:
        return Unresolved


@given(st.recursive(LEAVES, _composed, max_leaves=8), st.sampled_from([1, "", None]), st.sampled_from([1, "", None]))
def test_partial_evaluation_does_not_change_the_result(expression: Expression, a: object, b: object) -> None:
    """An expression with known values filled in has the same value as the original, whatever the steps return."""
    params = {"yes": 1, "no": "", "nothing": None}
    evaluator = PartialEvaluator({"params": params}, lambda ref: ref.path.startswith("steps"), None)
    steps = {"a": a, "b": b}
    try:
        seen = evaluator.evaluate(expression)
    except Unresolved:
        assert _value(expression, steps) is Unresolved
        return
    meant = _value(expression, steps)
    if meant is not Unresolved or not isinstance(seen, Const):
        assert _value(seen, steps) == meant


def test_a_condition_behind_one_that_fails_decides_nothing() -> None:
    every = Every((truth(Ref("steps.a")), truth(Ref("params.gone")), truth(Const(0))), True)
    evaluator = PartialEvaluator({"params": {}}, lambda ref: ref.path.startswith("steps"), None)
    seen = evaluator.evaluate(Defined(every))
    assert _value(seen, {"a": 1}) is _value(Defined(every), {"a": 1}) is False


@pytest.mark.parametrize("wanted", [True, False])
def test_one_known_condition_decides_whatever_the_others_are(wanted: bool) -> None:
    every = Every((truth(Ref("steps.a")), truth(Const(not wanted))), wanted)
    evaluator = PartialEvaluator({}, lambda _: True, None)
    assert evaluator.evaluate(every) == Const(not wanted)
