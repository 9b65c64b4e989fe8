"""Expressions as text: as a file would write them, or as a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from driven.flows.everyflow import CHILD, EVERY, flow
from handrail.driven.expressions.tree import (
    Artifact,
    Comparison,
    Const,
    Default,
    Defined,
    Every,
    Exists,
    Expression,
    Items,
    Object,
    Ref,
    Template,
    as_data,
    in_words,
)
from handrail.driven.flows.plan import flow_to_json


def truth(value: Expression) -> Items:
    return Items("truth", (value,))


def negation(condition: Expression) -> Items:
    return Items("not", (condition,))


X = Ref("params.x")
FILES = Ref("params.files")


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (Const("a b"), "a b"),
        (Const(3), "3"),
        (Const(None), "null"),
        (Const({"a": [1]}), '{"a": [1]}'),
        (X, "${params.x}"),
        (Items("concat", (Const("v"), X)), "v${params.x}"),
        (Items("add", (X, Const(1))), "${params.x + 1}"),
        (Items("concat", (Const("v"), Items("add", (X, Const(1))))), "v${params.x + 1}"),
        (Items("mul", (Items("add", (X, Const(1))), Const(2))), "${(params.x + 1) * 2}"),
        (Items("list", (Const("git"), X)), '["git", ${params.x}]'),
        (Items("length", (X,)), "${length of params.x}"),
        (Items("at", (FILES, Const(0))), "${params.files[0]}"),
        (Items("at", (Items("at", (FILES, Const(0))), Const("name"))), "${params.files[0].name}"),
        (Template("hi {who}, {else}", ("who",), (X,)), "hi ${params.x}, {else}"),
        (Object(("a", "b"), (Const("x"), X)), '{a: "x", b: ${params.x}}'),
        (Items("appendPrompt", (X, Const("s"))), '${params.x followed by "s"}'),
        (Default((X, Const("y"))), '${params.x else "y"}'),
        (Artifact(key=Ref("context.scope"), name=Const("plan")), "${artifact plan.md of context.scope}"),
        (
            Artifact(key=Const("P-1"), kind="plan", iteration=Ref("repeat.i")),
            "${artifact plan of P-1, iteration repeat.i}",
        ),
        (Artifact(key=X, kind="notes", is_list=True), "${artifacts notes of params.x}"),
        (truth(X), "${params.x}"),
        (truth(Const(True)), "true"),
        (negation(truth(X)), "not ${params.x}"),
        (negation(Comparison("equals", X, Const("full"))), 'not (${params.x} = "full")'),
        (Comparison("matches", X, Const("a.*")), '${params.x} matches "a.*"'),
        (Every((truth(X), Comparison("atMost", X, Const(3))), True), "${params.x} and (${params.x} ≤ 3)"),
        (Every((Defined(X), Exists(Const("out.md"))), False), '(${params.x} is defined) or ("out.md" exists)'),
        (Every((), True), "true"),
        (Exists(Items("concat", (Const("d/"), X))), '"d/${params.x}" exists'),
    ],
)
def test_an_expression_becomes_text_as_a_file_would_write_it(expression: Expression, words: str) -> None:
    assert in_words(expression) == words


@pytest.mark.parametrize(
    ("expression", "data"),
    [
        (Const(3), 3),
        (Items("list", (Const(1), X)), [1, "${params.x}"]),
        (Object(("a",), (Items("list", ()),)), {"a": []}),
    ],
)
def test_lists_and_objects_keep_their_structure_as_data(expression: Expression, data: Any) -> None:
    assert as_data(expression) == data


def test_a_flow_as_data_expands_nested_flows_one_level() -> None:
    child = flow(CHILD, "child")
    told = flow_to_json(flow(EVERY, "every"), {"child": child}.get)
    phases = {phase["id"]: phase for phase in told["phases"]}
    assert list(phases) == ["first", "each-1", "each-2", "each-3", "r1", "r2", "last"]
    assert phases["each-2"]["items"] == {"file": "${params.files[1]}"}
    assert phases["each-2"]["guards"] == ["1 < ${length of params.files}"]
    assert phases["each-2"]["lane"] == {"group": 0, "number": 1, "limit": 2, "onFailure": "finish"}
    assert phases["r2"]["guards"] == ["not (${steps.r1.t.outputs.n} = true)"]
    assert phases["first"]["steps"][1]["prompt"]["text"] == (
        "Do ${flow.word}\nfor ${steps.first.fetch.value}\n\nand ${params.go}"
    )
    run = phases["last"]["steps"][0]
    assert run["params"] == {"fileName": "child", "who": "${steps.r1.t.value}"}
    assert [phase["id"] for phase in run["flow"]["phases"]] == ["c"]
    assert run["flow"]["phases"][0]["steps"][0]["flow"] is None
