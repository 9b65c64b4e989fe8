"""The declared type of a param is checked before a run exists, and text stays as it was typed."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from support import Project

STEP = "{id: x, node: set, params: {value: '${params.p}'}}"


def flow(project: Project, param: str) -> None:
    project.write(".handrail/flows/f.yaml", f"params: {{p: {param}}}\nphases: [{{id: a, steps: [{STEP}]}}]\n")


def value(project: Project, given: str) -> Any:
    return project.json("run", "f", "--param", f"p={given}")["phases"][0]["steps"][0]["value"]["value"]


@pytest.mark.parametrize(
    "param", ["{type: text}", "{type: text, required: true}", "'1.0'", "{choices: ['1.10', 'true']}"]
)
@pytest.mark.parametrize("given", ["1.10", "true"])
def test_a_param_that_is_text_stays_text(project: Project, param: str, given: str) -> None:
    flow(project, param)
    assert value(project, given) == given


@pytest.mark.parametrize("param", ["{required: true}", "1", "''", "{type: number}"])
def test_other_params_are_numbers_if_a_number_is_given(project: Project, param: str) -> None:
    flow(project, param)
    assert value(project, "1.5") == 1.5


def test_a_flow_in_agentweavers_form_gets_a_number_as_it_does_there(project: Project) -> None:
    step = {"id": "x", "node": "set", "params": {"value": {"ref": "params.p"}}}
    told = {"kind": "f", "version": 1, "params": {"p": {"default": "1.0"}}, "phases": [{"id": "a", "steps": [step]}]}
    project.write(".agentweaver/.flows/f.json", json.dumps(told))
    assert value(project, "1.5") == 1.5


@pytest.mark.parametrize(
    ("kind", "given", "wanted"),
    [
        ("text", "[1]", "text"),
        ("integer", "1.5", "a whole number"),
        ("integer", "true", "a whole number"),
        ("number", "many", "a number"),
        ("boolean", "yes", "true or false"),
        ("list", "a", "a list"),
        ("mapping", "[]", "a mapping"),
    ],
)
def test_a_value_of_another_type_is_refused_before_the_run_exists(
    project: Project, kind: str, given: str, wanted: str
) -> None:
    flow(project, f"{{type: {kind}}}")
    said = project.run("run", "f", "--param", f"p={given}")
    assert said.code == 2
    assert f"`p` of flow `f` has to be {wanted}, found `{given}`" in said.err
    assert project.json("runs")["runs"] == []


@pytest.mark.parametrize("more", ["default: many", "choices: [1, many]"])
def test_a_default_and_choices_of_another_type_are_located_problems(project: Project, more: str) -> None:
    flow(project, f"{{type: number, {more}}}")
    (problem,) = project.json("validate", code=2)["problems"]
    assert (problem["code"], problem["line"]) == ("wrong-type", 1)
    assert problem["message"] == "`p` has to be a number, found text `many`"


@pytest.mark.parametrize(
    ("default", "given", "wanted", "example"),
    [
        ("[a, b]", "calc.py", "a list", """'p=["a","b"]'"""),
        ("[]", "calc.py", "a list", """'p=["a","b"]'"""),
        ("{n: 1}", "[1]", "a mapping", """'p={"n":1}'"""),
    ],
)
def test_a_value_that_the_default_shows_to_be_wrong_is_refused_with_an_example_that_works(
    project: Project, default: str, given: str, wanted: str, example: str
) -> None:
    flow(project, f"{{default: {default}}}")
    said = project.run("run", "f", "--param", f"p={given}")
    assert said.code == 2
    assert f"`p` of flow `f` has to be {wanted}, found `" in said.err
    assert f"hint: for example: `--param {example}`" in said.err.replace(", ", ",").replace(": 1}", ":1}")
    assert project.json("runs")["runs"] == []
    assert project.json("run", "f", *shlex.split(said.err.split("example: `")[1].partition("`")[0]))


@pytest.mark.parametrize(
    ("default", "given"), [("3", "1.5"), ("3", "many"), ("true", "maybe"), ("[a]", "null"), ("a", "[1]"), ("null", "x")]
)
def test_a_value_that_may_be_meant_is_taken(project: Project, default: str, given: str) -> None:
    flow(project, f"{{default: {default}}}")
    assert project.json("run", "f", "--param", f"p={given}")
