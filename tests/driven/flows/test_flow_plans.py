"""Plans of flow files: lanes and groups, rounds and their items, settings of steps."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.inputs import mutated, pieces
from handrail.driven.expressions.tree import Const, Expression, ExpressionScope, Items, Object, Ref
from handrail.driven.flows.keys import MAX_PARALLEL, SHAPES, flow_schema
from handrail.driven.flows.load import load_flow
from handrail.driven.flows.load_state import FlowResources
from handrail.driven.flows.plan import FlowPlan, Lane, MadeFile, Parallelism, Phase
from handrail.extensions.contracts import Node
from handrail.extensions.declarations import check_declarations, node_declarations
from handrail.extensions.registry import Registry
from handrail.source.codes import problem_kinds
from handrail.source.definition_files import Source, decode
from handrail.source.diagnostics import diagnostic_text, has_errors
from handrail.source.values import OPERATIONS, Unresolved
from handrail.source.yaml_text import read_yaml

SET = Node(about="", others="used", open_outputs=True)
KNOWN = FlowResources(nodes={"set": SET, "ask": replace(SET, prompt="required")}, checks=check_declarations(Registry()))
CORPUS = Path(__file__).parents[2] / "corpus" / "ok"


def read(text: str, known: FlowResources = KNOWN) -> tuple[FlowPlan | None, list[tuple[str, str]]]:
    plan, problems = load_flow(Source("flow.yaml", text), "flow", known)
    return plan, [(problem.code, problem.message) for problem in problems if problem.code != "flow-empty"]


def plan_of(text: str) -> FlowPlan:
    plan, problems = read(text)
    assert plan is not None, problems
    assert not problems
    return plan


def value(expression: Expression, **scopes: Any) -> Any:
    """The value of an expression. It may read only the given scopes."""
    return expression.resolve(ExpressionScope(scopes, lambda _: False, lambda _: "", lambda _: []))


def lanes(plan: FlowPlan) -> list[tuple[str, Lane | None]]:
    return [(phase.id, phase.lane) for phase in plan.phases]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("true", Parallelism(MAX_PARALLEL)),
        ("false", Parallelism()),
        ("3", Parallelism(3)),
        ("1", Parallelism()),
        ("{}", Parallelism(MAX_PARALLEL)),
        ("{limit: 2}", Parallelism(2)),
        ("{onFailure: finish}", Parallelism(MAX_PARALLEL, "finish")),
        ("{limit: 1, onFailure: finish}", Parallelism(1, "finish")),
    ],
)
def test_parallel_has_the_same_forms_everywhere(written: str, meant: Parallelism) -> None:
    phase = plan_of(f"phases: [{{id: a, parallel: {written}, steps: []}}]").phases[0]
    assert phase.parallel == meant
    groups = () if meant == Parallelism() else (meant,)
    assert plan_of(f"phases: [{{parallel: {written}, phases: [{{id: a, steps: []}}]}}]").groups == groups
    repeat = f"{{over: [1], max: 1, parallel: {written}}}"
    assert plan_of(f"phases: [{{repeat: {repeat}, phases: [{{id: 'a${{index}}', steps: []}}]}}]").groups == groups


def test_each_entry_of_a_parallel_block_is_a_lane() -> None:
    plan = plan_of(
        "phases:\n"
        "- {id: a, steps: []}\n"
        "- parallel: 2\n"
        "  phases:\n"
        "  - {id: b, steps: []}\n"
        "  - {repeat: {var: i, to: 2}, phases: [{id: 'c${i}', steps: []}, {id: 'd${i}', steps: []}]}\n"
        "  - {id: e, steps: []}\n"
        "- {id: f, steps: []}\n"
    )
    first, second, third = (Lane(0, number) for number in range(3))
    middle = [(name, second) for name in ("c1", "d1", "c2", "d2")]
    assert lanes(plan) == [("a", None), ("b", first), *middle, ("e", third), ("f", None)]
    assert plan.groups == (Parallelism(2),)


def test_each_round_of_a_parallel_repeat_is_a_lane() -> None:
    plan = plan_of(
        "phases:\n"
        "- repeat: {over: '${params.files}', max: 2, parallel: {onFailure: finish}}\n"
        "  phases: [{id: 'a${index}', steps: []}, {id: 'b${index}', steps: []}]\n"
    )
    wanted = [("a1", 0), ("b1", 0), ("a2", 1), ("b2", 1)]
    assert lanes(plan) == [(name, Lane(0, number)) for name, number in wanted]
    assert [value(phase.guards[0], params={"files": ["x"]}) for phase in plan.phases] == [True, True, False, False]


def test_a_parallel_block_in_a_repeat_is_a_new_group_in_every_round() -> None:
    block = "{parallel: true, phases: [{id: 'a${i}', steps: []}, {id: 'b${i}', steps: []}]}"
    plan = plan_of(f"phases: [{{repeat: {{var: i, to: 2}}, phases: [{block}]}}]")
    assert lanes(plan) == [("a1", Lane(0, 0)), ("b1", Lane(0, 1)), ("a2", Lane(1, 0)), ("b2", Lane(1, 1))]
    assert len(plan.groups) == 2


def items(phase: Phase, **scopes: Any) -> dict[str, Any]:
    return {name: value(item, **scopes) for name, item in phase.items}


def test_a_round_has_its_item() -> None:
    text = "phases: [{repeat: {over: '${params.words}', max: 2%s}, phases: [{id: 'a${index}', steps: []}]}]"
    first, second = plan_of(text % "").phases
    assert items(first, params={"words": ["x", "y"]}) == {"item": "x"}
    assert items(second, params={"words": ["x", "y"]}) == {"item": "y"}
    assert items(second, params={"words": ["x"]}) == {"item": None}
    assert [name for name, _ in plan_of(text % ", item: word").phases[0].items] == ["word"]


NESTED = """
phases:
- repeat: {over: '${params.files}', item: file, var: i, max: 2}
  phases:
  - repeat: {over: '${repeat.file.parts}', var: j, max: 2, until: {equals: ['${repeat.item}', '${repeat.file.last}']}}
    phases: [{id: '${i}-${j}', steps: [{id: x, node: set, params: {t: '${repeat.file.name} ${repeat.item}'}}]}]
"""


def test_nested_repeats_keep_all_items_and_their_guards_need_no_round_values() -> None:
    files = [{"name": "a", "parts": [1, 2], "last": 1}, {"name": "b", "parts": [3, 4], "last": 9}]
    told: dict[str, Any] = {}
    for phase in plan_of(NESTED).phases:
        if all(value(guard, params={"files": files}) for guard in phase.guards):
            repeat = {**phase.rounds, **items(phase, params={"files": files})}
            told[phase.id] = value(phase.steps[0].params["t"], repeat=repeat)
    assert told == {"1-1": "a 1", "2-1": "b 3", "2-2": "b 4"}


def test_a_round_beyond_the_end_of_the_list_has_no_item() -> None:
    last = plan_of(NESTED).phases[-1]
    assert items(last, params={"files": []}) == {"file": None, "item": None}


def test_a_step_that_is_the_same_in_every_round_is_read_once_and_checked_in_each() -> None:
    plan, problems = read("""
params: {x: 1}
phases:
- repeat: {var: i, to: 3}
  phases:
  - id: a-${i}
    steps:
    - {id: same, node: set, params: {n: "${params.x}"}}
    - {id: number, node: set, params: {n: "${i}"}}
    - {id: mine, node: set, params: {n: "${steps.a.same.outputs.n}"}}
""")
    assert plan is not None, problems
    first, *others = [phase.steps for phase in plan.phases]
    assert all(steps[0] is first[0] for steps in others)
    assert [steps[1].params["n"] for steps in (first, *others)] == [Const("1"), Const("2"), Const("3")]
    mine = [steps[2].params["n"] for steps in (first, *others)]
    assert mine == [Ref(f"steps.a-{number}.same.outputs.n") for number in (1, 2, 3)]


def test_a_reference_of_a_step_that_is_the_same_in_every_round_may_be_wrong_in_the_first_one_only() -> None:
    _, problems = read("""
phases:
- repeat: {var: i, to: 2}
  phases:
  - {id: "a-${i}", steps: [{id: same, node: set, params: {n: "${steps.b-1.t.outputs.n}"}}]}
  - {id: "b-${i}", steps: [{id: t, node: set, params: {n: 1}}]}
""")
    assert [code for code, _ in problems] == ["ref-forward"]


def test_an_inner_name_hides_the_outer_one() -> None:
    text = (
        "phases:\n- repeat: {over: [[1, 2]], max: 1}\n  phases:\n"
        "  - repeat: {over: '${repeat.item}', max: 2, var: j}\n"
        "    phases: [{repeat: {var: item, to: 1}, phases: [{id: '${j}${item}', steps: []}]}]\n"
    )
    plan = plan_of(text)
    assert [items(phase) for phase in plan.phases] == [{}, {}]
    inner = plan_of(
        text.replace(
            "{repeat: {var: item, to: 1}, phases: [{id: '${j}${item}', steps: []}]}", "{id: '${j}', steps: []}"
        )
    )
    assert [items(phase) for phase in inner.phases] == [{"item": 1}, {"item": 2}]


def test_a_plan_has_the_settings_of_flows_and_steps() -> None:
    plan = plan_of(
        "env: [HOME, CI, HOME]\ncontinue: again\nphases:\n- id: a\n  steps:\n  - id: x\n    node: set\n    rerun: ask\n"
        "    makes:\n    - out-${steps.a.x.outputs.n}.md\n"
        "    - {path: '${params.p}', name: n, schema: s, required: false}\n"
    )
    assert (plan.env, plan.again) == (("HOME", "CI"), "again")
    step = plan.phases[0].steps[0]
    assert step.rerun == "ask"
    first = Items("text", (Const("out-"), Ref("steps.a.x.outputs.n"), Const(".md")))
    assert step.makes == (MadeFile(first), MadeFile(Ref("params.p"), "n", "s", False))


def test_structured_artifacts_are_pairs_of_path_and_schema() -> None:
    plan = plan_of(
        "phases: [{id: a, steps: [{id: x, node: set, expect: [{kind: require-structured-artifacts, message: m,\n"
        "  items: [{path: '${params.p}', schemaId: plan/v1}]}]}]}]\n"
    )
    expect = plan.phases[0].steps[0].expect
    assert expect is not None
    assert expect[0].params["items"] == Items(
        "list", (Object(("path", "schemaId"), (Ref("params.p"), Const("plan/v1"))),)
    )


def test_names_of_schemas_are_not_checked_if_no_schemas_are_known() -> None:
    text = "phases: [{id: a, steps: [{id: x, node: set, makes: [{path: p, schema: zoo/v1}]}]}]"
    assert read(text)[1] == []
    assert [code for code, _ in read(text, replace(KNOWN, schemas=frozenset({"plan/v1"})))[1]] == ["schema-file"]


@pytest.mark.parametrize(
    ("prompt", "codes"),
    [
        ("{inlineTemplate: 'Hello {name}'}", []),
        ("{inlineTemplate: 'Hello {who}'}", ["template-unknown"]),
        ("{inlineTemplate: 'Hello {name}', vars: {who: 1}}", ["template-unknown", "template-unused"]),
        ("{inlineTemplate: 'Hello {name}', vars: {name: '{name}'}}", []),
        ("{inlineTemplate: 'Give {\"name\": 1}, {2}, { name }, ${name}, {a.b}', vars: {name: 1}}", []),
    ],
)
def test_placeholders_without_a_value_are_reported_in_prompts(prompt: str, codes: list[str]) -> None:
    text = f"params: {{who: Ada}}\nphases: [{{id: a, steps: [{{id: x, node: ask, prompt: {prompt}}}]}}]"
    assert [code for code, _ in read(text)[1]] == codes


def test_a_variable_counts_as_used_if_the_text_has_the_round_number_in_its_place() -> None:
    text = "{template: 'Round ${i} of {n}', vars: {i: '${repeat.i}', n: 3}}"
    step = f"{{id: x, node: set, params: {{t: {text}}}}}"
    plan_of(f"phases: [{{repeat: {{var: i, to: 2}}, phases: [{{id: 'a${{i}}', steps: [{step}]}}]}}]")


def test_a_list_has_items_and_an_object_members() -> None:
    at = OPERATIONS["at"]
    assert (at([["a"], 0]), at([["a"], "0"]), at([["a"], 1]), at([["a"], "9" * 5_000])) == ("a", "a", None, None)
    assert (at([{"a": 1}, "a"]), at([None, 3]), at([None, "a"])) == (1, None, None)
    for whole, place, code in (
        ({"a": 1}, "b", "ref-unresolvable"),
        ("text", 0, "not-a-list"),
        (3, "b", "ref-unresolvable"),
    ):
        with pytest.raises(Unresolved) as caught:
            at([whole, place])
        assert caught.value.code == code


_entries = st.recursive(
    st.just("phase"),
    lambda inner: st.lists(inner, max_size=3).flatmap(
        lambda entries: st.sampled_from(
            [("repeat", entries), ("rounds", entries), ("block", entries), ("row", entries)]
        )
    ),
    max_leaves=12,
)


def document(entries: list[Any], names: tuple[str, ...], *, is_parallel: bool = False) -> list[dict[str, Any]]:
    """The entries of a flow with unique ids. Nothing inside a parallel entry is parallel again."""
    made: list[dict[str, Any]] = []
    for number, entry in enumerate(entries):
        here = (*names, str(number))
        if entry == "phase":
            made.append({"id": "-".join(here), "steps": []})
            continue
        kind, inner = entry
        splits = kind in ("rounds", "block") and not is_parallel
        var = f"v{len(names)}"
        inside = (*here, f"${{{var}}}") if kind in ("repeat", "rounds") else here
        phases = document(inner, inside, is_parallel=is_parallel or splits)
        if kind in ("repeat", "rounds"):
            made.append({"repeat": {"var": var, "to": 2, "parallel": splits}, "phases": phases})
        else:
            made.append({"parallel": splits, "phases": phases})
    return made


@given(st.lists(_entries, max_size=3))
def test_phases_of_a_group_are_adjacent_and_lanes_are_in_order(entries: list[Any]) -> None:
    plan = plan_of(json.dumps({"phases": document(entries, ())}))
    runs = [
        (group, [p.lane for p in phases]) for group, phases in groupby(plan.phases, lambda p: p.lane and p.lane.group)
    ]
    groups = [group for group, _ in runs if group is not None]
    assert groups == sorted(set(groups))
    assert all(group < len(plan.groups) for group in groups)
    for group, found in runs:
        numbers = [lane.number for lane in found if lane is not None]
        assert group is None or numbers == sorted(numbers)


WHOLE = (CORPUS / "flow-keys/.handrail/flows/every-key.yaml").read_bytes()
SIGNS = (*(f"{field.name}: " for shape in SHAPES for field in shape.fields), "${repeat.item}", "{x}", "[", "- ", "1")
NOISE = pieces(*SIGNS, most=5).map(lambda text: text.encode("utf-8", "replace"))


@pytest.mark.whole
@settings(max_examples=300, deadline=None)
@given(mutated(st.just(WHOLE), NOISE))
def test_damaged_flow_text_gives_a_plan_or_printable_problems(data: bytes) -> None:
    text, wrong = decode("flow.yaml", data)
    if wrong:
        return
    plan, problems = load_flow(text, "flow", KNOWN)
    assert (plan is None) == has_errors(problems)
    for problem in problems:
        assert 1 <= problem.line <= len(text.lines)
        assert problem.column >= 1
        assert problem.code in problem_kinds()
        assert diagnostic_text(problem)


def test_valid_flows_match_the_schema_for_editors() -> None:
    schema = flow_schema(node_declarations(Registry()), check_declarations(Registry()))
    jsonschema.Draft202012Validator.check_schema(schema)
    flows = jsonschema.Draft202012Validator(schema)
    files = [*CORPUS.rglob("flows/*.yaml"), *CORPUS.rglob("review.json")]
    assert len(files) >= 5
    for file in files:
        tree, troubles = read_yaml(file.read_text("utf-8"))
        assert tree is not None
        assert not troubles
        flows.validate(plain(tree))
    wrong = {
        "phases": [{"parallel": True, "phases": [{"id": "a", "steps": [{"id": "x", "node": "set", "rerun": "no"}]}]}]
    }
    with pytest.raises(jsonschema.ValidationError):
        flows.validate(wrong)


def plain(node: Any) -> Any:
    if node.kind == "mapping":
        return {name: plain(child) for name, child in node.value.items()}
    return [plain(item) for item in node.value] if node.kind == "list" else node.value


@pytest.mark.whole
def test_a_file_with_ten_thousand_steps_is_read() -> None:
    steps = "".join(f"  - {{id: s{n}, node: set, params: {{n: {n}}}}}\n" for n in range(10_000))
    assert len(plan_of(f"phases:\n- id: a\n  steps:\n{steps}").phases[0].steps) == 10_000


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("{properties: {ok: {type: boolean}}}", {"properties": {"ok": {"type": "boolean"}}}),
        ("{properties: {list: {type: array}}}", {"properties": {"list": {"type": "array"}}}),
        ("{properties: {ref: {type: string}}}", {"properties": {"ref": {"type": "string"}}}),
        ("{properties: {a: {const: 1}}, default: {}}", {"properties": {"a": {"const": 1}}, "default": {}}),
        ("{const: 3}", {"const": 3}),
        ("{const: {type: object}}", {"type": "object"}),
        ("{ref: params.whole}", {"type": "number"}),
        ("{enum: ['${params.one}', {ref: params.one}]}", {"enum": ["x", "x"]}),
    ],
)  # fmt: skip
def test_a_schema_is_taken_as_it_is_written(written: str, meant: Any) -> None:
    step = f"{{id: x, node: llm-prompt, prompt: Go, params: {{executor: claude, schema: {written}}}}}"
    known = FlowResources(nodes=node_declarations(Registry()))
    plan, problems = read(f"params: {{whole: 1, one: 1}}\nphases: [{{id: a, steps: [{step}]}}]", known)
    assert plan is not None, problems
    schema = plan.phases[0].steps[0].params["schema"]
    assert value(schema, params={"whole": {"type": "number"}, "one": "x"}) == meant
