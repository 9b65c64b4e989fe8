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
    "cwd elsewhere": (COMMAND % "cwd: /", "write a path inside the project"),
    "makes outside": ("{id: x, node: set, makes: [../a]}", "write a path inside the project"),
    "makes elsewhere": ("{id: x, node: set, makes: [{path: /etc/a}]}", "write a path inside the project"),
    "no such workflow": ("{id: x, node: workflow-run, params: {workflow: bug-fixx}}", "did you mean `bug-fix`?"),
    "hidden workflow": ("{id: x, node: workflow-run, params: {workflow: hidden}}", "`handrail list` shows what can"),
    "type of a field": (FORM % "[{id: a, type: texxt, label: A}]", "did you mean `text`?"),
    "key of a field": (FORM % "[{id: a, typ: text, label: A}]", "did you mean `type`?"),
    "output": ("{id: x, node: set, params: {a: '${steps.a.first.outputs.outpt}'}}", "did you mean `output`?"),
    "pattern": ("{id: x, node: set, when: {matches: [a, '(']}}", "a pattern has no look-around"),
    "schema is missing": ("{id: x, node: set, makes: [{path: a, schema: reprot}]}", "did you mean `report`?"),
    "ending of a schema": ("{id: x, node: set, makes: [{path: a, schema: report.json}]}", "did you mean `report`?"),
    "unknown with ending": (
        "{id: x, node: set, makes: [{path: a, schema: unheard.json}]}",
        "write it as `.handrail/schemas/unheard.json`, and name it `unheard`",
    ),
    "schema is no json": ("{id: x, node: set, makes: [{path: a, schema: text}]}", "correct `.handrail/schemas/text"),
    "schema is no schema": ("{id: x, node: set, makes: [{path: a, schema: odd}]}", "correct `.handrail/schemas/odd"),
    "schema is misspelt": ("{id: x, node: set, makes: [{path: a, schema: typo}]}", "correct `.handrail/schemas/typo"),
    "bool": (FORM % "[{id: a, type: bool, label: A}]", "did you mean `boolean`?"),
    "field of when": (FORM % "[{id: ok, label: A}, {id: b, when: {field: okk, equals: x}}]", "did you mean `ok`?"),
    "options": (FORM % "[{id: a, type: single-select, default: x}]", "add `options: [A, B]`"),
    "optins": (FORM % "[{id: a, type: single-select, optins: [x]}]", "did you mean `options`?"),
    "fiel": ("{id: x, node: set, expect: [{fiel: a}]}", "did you mean `file`?"),
    "timeout in minutes": ("{id: x, node: set, timeout: 10m}", "write seconds: `600`"),
    "retry is a number": ("{id: x, node: set, retry: 5}", "write `retry: {attempts: 5}`"),
    "timeout in params": (COMMAND % "timeout: 3", "`timeout` is a key of the step: write it beside `params`"),
    "no attempts": ("{id: x, node: set, retry: {attempts: 0}}", "`attempts` means: the maximum number of attempts"),
    "inline schema": ("{id: x, node: llm-prompt, prompt: Go, params: {schema: {type: objekt}}}", "correct it"),
}  # fmt: skip

SCHEMAS = {"text": "no json", "odd": '{"type": 1}', "typo": '{\n  "properties": {"a": {"type": "objct"}}\n}'}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    project = Project(tmp_path, monkeypatch, capsys)
    project.write(".handrail/schemas/report.json", "{}")
    project.workflow("hidden", ["a"], "show: workflows\n")
    return project


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_reported_at_its_place_before_any_step_runs(project: Project, name: str) -> None:
    step, hint = MISTAKES[name]
    for id_, text in SCHEMAS.items() if name.startswith("schema is") else ():
        project.write(f".handrail/schemas/{id_}.json", text)
    project.write(".handrail/flows/f.yaml", HEAD + step + "\n")
    found = [p for p in project.run("validate", "--json").data["problems"] if p["severity"] == "error"]
    errors = [p for p in found if p["file"].endswith("f.yaml")]
    assert errors
    assert {p["line"] for p in errors} == {5}
    assert any((p["hint"] or "").startswith(hint) for p in errors), errors
    assert len(errors) == (2 if name == "contnet" else 1)
    for more in ((), ("--dry-run",)):
        assert project.run("run", "f", *more).code == 2
    assert not (project.folder / "ran").exists()


def test_a_flow_that_runs_a_broken_workflow_does_not_begin_and_names_the_broken_file(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", HEAD + "{id: x, node: workflow-run, params: {workflow: broken}}\n")
    project.workflow("broken", ["a"], "show: nobody\n")
    data = project.run("validate", "--json").data
    assert [(p["code"], p["file"]) for p in data["problems"]] == [
        ("bad-value", ".handrail/workflows/broken/workflow.yaml")
    ]
    assert [(p["code"], p["file"], p["line"]) for p in data["notes"]] == [
        ("nested-broken", ".handrail/flows/f.yaml", 5)
    ]
    for more in ((), ("--dry-run",)):
        said = project.run("run", "f", *more)
        assert said.code == 2
        assert "`.handrail/workflows/broken/workflow.yaml` has" in said.err
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


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_variable_that_a_nested_flow_needs_has_to_be_set_as_well(project: Project, more: tuple[str, ...]) -> None:
    project.write(
        ".handrail/flows/inner.yaml",
        "env: [NOT_SET_HERE]\n"
        "phases: [{id: a, steps: [{id: x, node: set, params: {a: '${context.env.NOT_SET_HERE}'}}]}]",
    )
    nested = "{id: n, node: flow-run, params: {fileName: inner}%s}\n"
    project.write(".handrail/flows/f.yaml", HEAD + nested % "")
    said = project.run("run", "f", *more)
    assert said.code == 2
    assert ".handrail/flows/inner.yaml:1:7: the variable `NOT_SET_HERE` is not set" in said.err
    assert "hint: set it: `NOT_SET_HERE=VALUE handrail run f`" in said.err
    assert not (project.folder / "ran").exists()
    project.write(".handrail/flows/f.yaml", HEAD + nested % ", when: '${params.deep}'")
    assert project.run("run", "f", "--param", "deep=false", *more).code == 0


def test_a_variable_that_a_new_version_of_a_flow_needs_has_to_be_set_before_a_restart(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", HEAD + "{id: x, node: set, params: {a: 1}}\n")
    run = project.json("run", "f")["run"]
    (project.folder / "ran").unlink()
    project.write(".handrail/flows/f.yaml", HEAD + ENV % "'${context.env.NOT_SET_HERE}'")
    said = project.run("restart", run)
    assert (said.code, "the variable `NOT_SET_HERE` is not set" in said.err) == (2, True)
    assert not (project.folder / "ran").exists()


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


def test_a_path_of_the_project_may_be_absolute(project: Project) -> None:
    made = project.folder / "made"
    link = project.folder.parent / "link"
    link.symlink_to(project.folder)
    step = f"{{id: x, node: write-file, params: {{path: {link}/made, text: x}}, makes: [{made}]}}"
    project.write(".handrail/flows/f.yaml", HEAD + step + "\n")
    assert project.json("validate")["problems"] == []
    assert project.json("run", "f")["status"] == "completed"
    assert made.read_text() == "x"


def test_a_run_can_be_resumed_after_its_workflow_was_broken(project: Project) -> None:
    project.workflow("w", ["a"])
    step = "{id: x, node: command, params: {argv: [test, -e, go]}}"
    skipped = "{id: w, node: workflow-run, when: '${params.deep}', params: {workflow: w}}"
    project.write(".handrail/flows/f.yaml", f"{HEAD}{step}\n      - {skipped}\n")
    run = project.json("run", "f", "--param", "deep=false", code=1)["run"]
    project.workflow("w", ["a"], "show: nobody\n")
    project.write("go", "")
    assert project.json("resume", run)["status"] == "completed"


def test_a_shell_line_as_a_single_word_is_a_warning(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", HEAD + "{id: x, node: command, params: {argv: ['sh -c \"ls -l\"']}}\n")
    found = project.json("validate")["problems"]
    assert [(one["code"], one["hint"]) for one in found] == [("argv-line", 'write `argv: [sh, -c, "ls -l"]`')]


def test_a_param_that_is_neither_declared_nor_given_is_refused_before_the_run(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", HEAD + "{id: x, node: set, params: {a: '${params.x}'}}\n")
    said = project.run("run", "f")
    assert said.code == 2
    assert ".handrail/flows/f.yaml:5:41: the param `x` is not given" in said.err
    assert not (project.folder / "ran").exists()
    assert project.run("run", "f", "--param", "x=1").code == 0
    project.write(
        ".handrail/flows/f.yaml",
        HEAD + "{id: x, node: set, when: {defined: '${params.x}'}, params: {a: '${params.x}'}}\n",
    )
    assert project.run("run", "f").code == 0


def test_the_settings_name_only_agents_that_exist(project: Project) -> None:
    project.write(".handrail/settings.yaml", "agent: cluade\npresets: {p: {review: codexx:m}}\n")
    found = project.json("validate", code=2)["problems"]
    assert [(one["line"], one["hint"]) for one in found] == [
        (1, "did you mean `claude`?"),
        (2, "did you mean `codex`?"),
    ]


def test_a_phase_that_waits_for_a_file_that_nobody_may_write_is_a_warning(project: Project) -> None:
    only = "tools:\n  whitelist: [read]\nexit:\n  - file: PLAN.md\n"
    project.workflow("w", ["a", "b"])
    project.phase("w", "a", only)
    assert [one["code"] for one in project.json("validate")["problems"]] == ["exit-unwritable"]
    project.phase("w", "b", only)
    project.phase("w", "a")
    assert project.json("validate")["problems"] == []


@pytest.mark.parametrize(
    ("step", "path", "hint"),
    [
        ("{id: x, node: set, params: {count: 1}}", "total", "its outputs: count"),
        (FORM % "[{id: note, label: N}]", "values.noet", "did you mean `note`?"),
    ],
)
def test_an_output_that_the_params_of_a_step_rule_out_is_an_error(
    project: Project, step: str, path: str, hint: str
) -> None:
    reader = f"      - {{id: y, node: set, params: {{a: '${{steps.a.x.outputs.{path}}}'}}}}\n"
    project.write(".handrail/flows/f.yaml", f"{HEAD}{step}\n{reader}")
    found = project.json("validate", code=2)["problems"]
    assert [(one["code"], one["hint"]) for one in found] == [("ref-output", hint)]


def test_a_problem_of_a_schema_file_has_its_place_and_its_value(project: Project) -> None:
    project.write(".handrail/schemas/typo.json", SCHEMAS["typo"])
    project.write(".handrail/flows/f.yaml", HEAD + "{id: x, node: set, makes: [{path: a, schema: typo}]}\n")
    (found,) = project.json("validate", code=2)["problems"]
    assert "`.handrail/schemas/typo.json:2:32` is not a JSON Schema" in found["message"]
    assert '`"objct"`' in found["message"]


def test_an_entry_without_its_ending_and_a_check_of_another_place_have_a_suggestion(project: Project) -> None:
    project.workflow("w", ["a"])
    project.phase("w", "a", "exit:\n  - {kind: step-output, value: 1}\n")
    path = project.folder / ".handrail/workflows/w/workflow.yaml"
    path.write_text(path.read_text() + "  - code\n")
    project.phase("w", "code")
    project.phase("w", "code-review")
    hints = [(one["code"], one["hint"]) for one in project.json("validate", code=2)["problems"]]
    assert ("file-missing", "did you mean `code.md`?") in hints
    assert hints[0][0] == "exit-check"
    assert hints[0][1].startswith("`step-output` is only for `expect` of a step in a flow")
