"""Options, answers and settings that do not fit: the message names what the person wrote, at its place."""

from __future__ import annotations

import pytest

from support import Project

PLAIN = "params: {n: 1}\nphases:\n- {id: a, steps: [{id: s, node: set}]}\n"
ASKS = """phases:
- id: a
  steps:
  - id: ask
    node: user-input
    params:
      formId: order
      title: What?
      fields: [{id: order, type: text, label: Order, required: true}]
"""


@pytest.mark.parametrize(
    ("option", "param"), [("--prompt", "extraPrompt"), ("--blocking-severities", "reviewBlocking")]
)
def test_an_option_that_a_flow_does_not_take_is_named(project: Project, option: str, param: str) -> None:
    project.write(".handrail/flows/f.yaml", PLAIN)
    said = project.run("run", "f", option, "high")
    assert said.code == 2
    assert f"`{option}` sets the param `{param}" in said.err
    assert "or write `form: agentweaver` there" in said.err


def test_an_empty_list_of_severities_is_refused(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", "form: agentweaver\n" + PLAIN)
    said = project.run("run", "f", "--blocking-severities", "")
    assert (said.code, "`--blocking-severities` names no severity" in said.err) == (2, True)


def test_an_answer_that_fits_no_field_is_told(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", ASKS)
    project.write("answers.yaml", "order: tea\nfoo: 1\n")
    said = project.run("run", "f", "--answers", "answers.yaml")
    assert said.code == 0
    assert "warning: answers.yaml:2:1: no question has a field `foo`, so its answer was not used" in said.err


def test_an_answer_to_one_question_names_all_that_fits_no_field(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", ASKS)
    run = project.json("run", "f", code=4)["run"]
    project.write("answers.yaml", "finished: maybe\n")
    said = project.run("answer", run, "--file", "answers.yaml")
    assert "answers.yaml:1:1: `finished` is no field of the form" in said.err
    project.write("answers.yaml", "ordr: yes\n")
    assert (
        "answers.yaml:1:1: `ordr` is no field of the form" in project.run("answer", run, "--file", "answers.yaml").err
    )


def test_a_misspelt_group_of_routes_is_pointed_at(project: Project) -> None:
    project.write(".handrail/settings.yaml", "routes: {reviw: codex}\n")
    (problem,) = project.json("validate", code=2)["problems"]
    assert (problem["line"], problem["column"], problem["hint"]) == (1, 10, "did you mean `review`?")


@pytest.mark.parametrize("prompt", ["''", "' '", "{inlineTemplate: ''}"])
def test_a_blank_prompt_is_a_problem(project: Project, prompt: str) -> None:
    step = f"{{id: s, node: llm-prompt, prompt: {prompt}}}"
    project.write(".handrail/flows/f.yaml", f"phases:\n- {{id: a, steps: [{step}]}}\n")
    (problem,) = project.json("validate", code=2)["problems"]
    assert (problem["code"], problem["message"]) == ("blank-text", "the prompt is blank")


def test_a_summary_that_was_not_written_is_a_file_that_was_not_made(project: Project) -> None:
    step = "{id: s, node: set, after: [{kind: set-summary-from-file, path: sum.md}]}"
    project.write(".handrail/flows/f.yaml", f"phases:\n- {{id: a, steps: [{step}]}}\n")
    assert "the step did not make `sum.md`" in project.run("run", "f").err
