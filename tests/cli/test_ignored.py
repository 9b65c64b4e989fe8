"""Input that nothing uses is refused or named: a task, parameters, forms and fields of an answers file."""

from __future__ import annotations

from support import Project

FORM = (
    "phases:\n- id: a\n  steps:\n  - id: ask\n    node: user-input\n    params:\n      formId: go\n      title: Go?\n"
    "      fields: [{id: ok, type: boolean, label: OK, required: true}, {id: note, type: text, label: Note}]\n"
)


def one_step(project: Project, params: str = "", head: str = "") -> None:
    text = f"{head}phases:\n- {{id: a, steps: [{{id: x, node: set, params: {{n: 1{params}}}}}]}}\n"
    project.write(".handrail/flows/f.yaml", text)


def test_a_task_and_a_param_that_nothing_uses_are_named(project: Project) -> None:
    one_step(project)
    said = project.run("run", "f", "extra", "words", "--param", "a=1")
    assert said.code == 0
    assert "warning: flow `f` does not use the param `a`\n" in said.err
    assert "warning: flow `f` does not use a task, so `extra words` is ignored\n" in said.err


def test_undeclared_params_and_a_task_that_a_flow_uses_are_fine(project: Project) -> None:
    one_step(project, ", a: '${params.a}', t: '${context.task}'")
    assert "warning" not in project.run("run", "f", "do", "it", "--param", "a=1").err
    one_step(project, ", all: '${params}'")
    assert "warning" not in project.run("run", "f", "do", "it", "--param", "a=1").err


def test_a_misspelt_param_is_named_beside_the_missing_one(project: Project) -> None:
    one_step(project, head="params: {version: {required: true}}\n")
    said = project.run("run", "f", "--param", "vresion=1")
    assert said.code == 2
    assert "has no value for `version`, and no param `vresion`; did you mean `version`?" in said.err


def test_a_workflow_without_a_task_says_how_to_give_one(project: Project) -> None:
    project.workflow("ship", ["a"])
    said = project.run("run", "ship", "--agent", "scripted")
    assert (said.code, said.err) == (2, "error: workflow `ship` needs a task\nhint: `handrail run ship TASK`\n")


def test_a_misspelt_field_is_named_also_if_the_field_is_optional(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", FORM)
    project.run("run", "f")
    project.write("one.yaml", "okk: true\n")
    said = project.run("answer", "last", "--file", "one.yaml")
    assert said.code == 2
    assert "one.yaml:1:1: `okk` is no field of the form; did you mean `ok`?" in said.err
    project.write("two.yaml", "ok: true\nnoet: wait for Ann\n")
    said = project.run("answer", "last", "--file", "two.yaml")
    assert (said.code, "`noet` is no field of the form; did you mean `note`?" in said.err) == (2, True)
    project.write("three.yaml", "go: {ok: true}\n")
    assert project.run("answer", "last", "--file", "three.yaml").code == 0


def test_an_unknown_form_in_an_answers_file_is_named(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", FORM)
    project.write("answers.yaml", "goo: {ok: true}\n")
    said = project.run("run", "f", "--answers", "answers.yaml")
    told = "no question `goo` was asked, so its answers were not used; did you mean `go`?"
    assert (said.code, f"warning: answers.yaml:1:1: {told}\n" in said.err) == (4, True)
    project.write("answers.yaml", "go: {ok: true}\nelse: {b: 1}\n")
    said = project.run("run", "f", "--answers", "answers.yaml")
    assert (said.code, "answers.yaml:2:1: no question `else` was asked" in said.err) == (0, True)


def test_an_answer_without_a_terminal_says_how_to_give_one(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", FORM)
    project.run("run", "f")
    said = project.process("answer", "last")
    assert (said.code, "`handrail answer r-" in said.err, " --question q1 --file FILE`\n" in said.err) == (
        4,
        True,
        True,
    )
    project.write("one.yaml", "ok: ''\n")
    assert "`ok` has to be true or false, found a blank text" in project.run("answer", "last", "--file", "one.yaml").err
