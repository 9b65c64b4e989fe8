"""A node is one module and one registry row. Everything else comes from its declaration."""

from __future__ import annotations

import jsonschema
import pytest

from handrail.extensions import registry
from handrail.extensions.declarations import node_declarations
from handrail.extensions.registry import Registry
from support import Project

FLOW = "phases:\n- id: a\n  steps:\n  - {id: x, node: greet, params: {PARAMS}}\n"


@pytest.fixture
def greeting(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setitem(registry.NODES, "greet", "steps.nodes.toy_greet")
    return project


def flow(project: Project, params: str, more: str = "") -> None:
    project.write(".handrail/flows/demo.yaml", FLOW.replace("PARAMS", params) + more)


def test_a_toy_node_runs(greeting: Project) -> None:
    flow(greeting, "name: Ada, times: 2", "  - {id: y, node: set, params: {t: '${steps.a.x.outputs.greeting}'}}\n")
    assert greeting.run("validate").out.startswith("no problems")
    ended = greeting.json("run", "demo")
    assert [step["value"] for step in ended["phases"][0]["steps"]] == [
        {"greeting": "hello Ada hello Ada"},
        {"t": "hello Ada hello Ada"},
    ]


def test_a_module_may_have_several_nodes(greeting: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.NODES, "wave", "steps.nodes.toy_greet:WAVE")
    flow(greeting, "name: Ada", "  - {id: y, node: wave}\n")
    ended = greeting.json("run", "demo")
    assert [step["value"]["greeting"] for step in ended["phases"][0]["steps"]] == ["hello Ada", "o/"]


@pytest.mark.parametrize(
    ("params", "code", "place", "message", "hint"),
    [
        ("nmae: Ada", "param-unknown", (4, 35), "`greet` has no param `nmae`", "did you mean `name`?"),
        ("name: Ada, times: 9", "bad-value", (4, 53), "`times` has to be between 1 and 3, found `9`", None),
        ("name: ''", "blank-text", (4, 41), "`name` is blank", "fill it in: who is greeted"),
        ("times: 1", "param-missing", (4, 19), "`greet` needs the param `name`", "add `name:` to `params`"),
    ],
)
def test_a_wrong_param_of_a_toy_node_is_located(
    greeting: Project, params: str, code: str, place: tuple[int, int], message: str, hint: str | None
) -> None:
    flow(greeting, params)
    (problem,) = greeting.json("validate", code=2)["problems"]
    assert (problem["code"], problem["message"]) == (code, message)
    assert (problem["line"], problem["column"]) == place
    assert hint is None or problem["hint"] == hint


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("name=Ada", "hello Ada"),
        ("times=2", "hello 5 hello 5"),
        ("name= ", "`greet`: `name` is blank"),
        ("times=9", "`greet`: `times` has to be between 1 and 3, found `9`"),
        ("times=1.5", "`greet`: `times` has to be a whole number, found `1.5`"),
        ("times=often", "`greet`: `times` has to be a whole number, found `often`"),
    ],
)
def test_values_of_the_run_are_checked_against_the_declaration(greeting: Project, given: str, value: str) -> None:
    head = "params: {name: {default: 5}, times: {default: null}}\n"
    greeting.write(
        ".handrail/flows/demo.yaml", head + FLOW.replace("PARAMS", "name: '${params.name}', times: '${params.times}'")
    )
    is_wrong = value.startswith("`")
    (step,) = greeting.json("run", "demo", "--param", given, code=1 if is_wrong else 0)["phases"][0]["steps"]
    assert (step["error"] if is_wrong else step["value"]["greeting"]) == value


def test_an_output_that_a_toy_node_does_not_make_is_located(greeting: Project) -> None:
    flow(greeting, "name: Ada", "  - {id: y, node: set, params: {t: '${steps.a.x.outputs.greting}'}}\n")
    (problem,) = greeting.json("validate", code=2)["problems"]
    assert (problem["code"], problem["line"], problem["hint"]) == ("ref-output", 5, "did you mean `greeting`?")


@pytest.mark.whole
def test_the_schema_knows_a_toy_node(greeting: Project) -> None:
    schema = greeting.json("schema", "flow")
    assert schema["definitions"]["params:greet"]["properties"]["times"]["default"] == 1
    step = {"id": "x", "node": "greet", "params": {"name": "${params.who}", "times": 2}}
    jsonschema.validate({"phases": [{"id": "a", "steps": [step]}]}, schema)
    step["params"] = {"nmae": "Ada"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"phases": [{"id": "a", "steps": [step]}]}, schema)


def test_an_error_names_the_node_without_a_declaration(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.NODES, "odd", "json")
    with pytest.raises(TypeError, match=r"the node `odd` has no `NODE = Node\(...\)`"):
        node_declarations(Registry())["odd"]
