"""Mistakes that a run would find late are located problems at load, or are refused before the run exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import Project

HEAD = """phases:
  - id: a
    steps:
      - {id: first, node: command, params: {argv: [touch, ran]}}
      - """
FORM = "{id: x, node: user-input, params: {formId: f, title: T, fields: %s}}"
COMMAND = "{id: x, node: command, params: {argv: [ls], %s}}"
MISTAKES = {
    "argv is text": ("{id: x, node: command, params: {argv: echo hi}}", "write a list: `argv: [echo, hi]`"),
    "argv is empty": ("{id: x, node: command, params: {argv: []}}", "fill it in: the program and its arguments"),
    "cdw": (COMMAND % "cdw: src", "did you mean `cwd`?"),
    "contnet": ("{id: x, node: write-file, params: {path: a, contnet: b}}", "its params: path, text"),
    "second": ("{id: x, node: wait, params: {second: 1}}", "did you mean `seconds`?"),
    "env is a list": (COMMAND % "env: [A]", "`env` means: additional environment variables"),
    "seconds below 0": ("{id: x, node: wait, params: {seconds: -1}}", "`seconds` means: how long"),
    "mayFail is text": (COMMAND % 'mayFail: "false"', "write true or false, without quotes"),
    "maxOutput": (COMMAND % "maxOutput: 52428800", "`maxOutput` means: how much of the end of its output is kept"),
    "cwd outside": (COMMAND % "cwd: ../..", "write a path inside the project"),
    "type of a field": (FORM % "[{id: a, type: texxt, label: A}]", "did you mean `text`?"),
    "key of a field": (FORM % "[{id: a, typ: text, label: A}]", "did you mean `type`?"),
    "no fields": (FORM % "[]", "fill it in: the questions"),
    "output": ("{id: x, node: set, params: {a: '${steps.a.first.outputs.outpt}'}}", "did you mean `output`?"),
    "pattern": ("{id: x, node: set, when: {matches: [a, '(']}}", "a pattern has no look-around"),
    "schema is missing": ("{id: x, node: set, makes: [{path: a, schema: reprot}]}", "did you mean `report`?"),
    "schema is no json": ("{id: x, node: set, makes: [{path: a, schema: text}]}", "correct `.handrail/schemas/text"),
    "schema is no schema": ("{id: x, node: set, makes: [{path: a, schema: odd}]}", "correct `.handrail/schemas/odd"),
    "inline schema": ("{id: x, node: llm-prompt, prompt: Go, params: {schema: {type: objekt}}}", "correct it"),
}  # fmt: skip


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    project = Project(tmp_path, monkeypatch, capsys)
    project.write(".handrail/schemas/report.json", "{}")
    project.write(".handrail/schemas/text.json", "no json")
    project.write(".handrail/schemas/odd.json", '{"type": 1}')
    return project


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_reported_at_its_place_before_any_step_runs(project: Project, name: str) -> None:
    step, hint = MISTAKES[name]
    project.write(".handrail/flows/f.yaml", HEAD + step + "\n")
    errors = [p for p in project.run("validate", "--json").data["problems"] if p["severity"] == "error"]
    assert errors
    assert {p["line"] for p in errors} == {5}
    assert any((p["hint"] or "").startswith(hint) for p in errors), errors
    for more in ((), ("--dry-run",)):
        assert project.run("run", "f", *more).code == 2
    assert not (project.folder / "ran").exists()


ENV = "{id: x, node: set, params: {a: %s}}\nenv: [HOME, NOT_SET_HERE]\n"


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_variable_that_a_flow_needs_has_to_be_set_before_the_run_begins(
    project: Project, more: tuple[str, ...]
) -> None:
    project.write(".handrail/flows/f.yaml", HEAD + ENV % "'${context.env.NOT_SET_HERE}'")
    said = project.run("run", "f", *more)
    assert said.code == 2
    assert ".handrail/flows/f.yaml:6:13: the variable `NOT_SET_HERE` is not set" in said.err
    assert "hint: set it: `NOT_SET_HERE=VALUE handrail run f`" in said.err
    assert project.json("runs")["runs"] == []


@pytest.mark.parametrize(("when", "code"), [("", 2), (", when: '${params.deep}'", 0)], ids=["certain", "perhaps"])
def test_a_variable_that_a_nested_flow_needs_has_to_be_set_too(project: Project, when: str, code: int) -> None:
    project.write(".handrail/flows/inner.yaml", HEAD + ENV % "'${context.env.NOT_SET_HERE}'")
    nest = f"{{id: n, node: flow-run, params: {{fileName: inner}}{when}}}"
    project.write(".handrail/flows/f.yaml", f"params: {{deep: false}}\n{HEAD}{nest}\n")
    said = project.run("run", "f")
    assert said.code == code, said
    assert (".handrail/flows/inner.yaml:6:13: the variable `NOT_SET_HERE` is not set" in said.err) is (code == 2)


@pytest.mark.parametrize("value", ["{default: ['${context.env.NOT_SET_HERE}', b]}", "'${context.env.HOME}'"])
def test_a_variable_with_a_default_value_need_not_be_set(project: Project, value: str) -> None:
    project.write(".handrail/flows/f.yaml", HEAD + ENV % value)
    assert project.json("run", "f")["status"] == "completed"


def test_a_variable_in_a_step_that_may_be_skipped_need_not_be_set(project: Project) -> None:
    project.write(
        ".handrail/flows/f.yaml",
        "env: [NOT_SET_HERE]\nphases: [{id: a, steps: [{id: x, node: set, when: '${params.deep}',"
        " params: {a: '${context.env.NOT_SET_HERE}'}}]}]",
    )
    assert project.json("run", "f", "--param", "deep=false")["status"] == "completed"


def test_a_dry_run_that_shows_a_failing_step_exits_with_2(project: Project) -> None:
    project.write(
        ".handrail/flows/f.yaml", "phases: [{id: a, steps: [{id: x, node: set, params: {a: '${params.b.c}'}}]}]"
    )
    said = project.run("run", "f", "--param", "b=1", "--dry-run")
    assert said.code == 2
    assert "✗ x: set: fails" in said.out
    assert "the run would fail: a/x" in said.err
    assert project.json("run", "f", "--param", "b=1", "--dry-run", code=2)["ok"] is False
    assert project.json("run", "f", "--param", 'b={"c":1}', "--dry-run")["ok"] is True


def test_a_run_can_be_resumed_after_its_schema_was_broken(project: Project) -> None:
    project.write("a.json", "{}")
    step = "{id: x, node: command, params: {argv: [cp, go, a.json]}, makes: [{path: a.json, schema: report}]}"
    project.write(".handrail/flows/f.yaml", HEAD + step + "\n")
    run = project.json("run", "f", code=1)["run"]
    project.write(".handrail/schemas/report.json", "no json")
    project.write("go", "{}")
    assert "is not JSON" in project.json("resume", run, code=1)["error"]
    project.write(".handrail/schemas/report.json", "{}")
    assert project.json("resume", run)["status"] == "completed"
