"""`run: LINE` in a step is short for a `command` with the shell that `run` of an exit check uses."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from handrail.extensions.registry import Registry
from handrail.project.editor_schemas import editor_schema
from support import Project


def ran(project: Project, *steps: str, code: int = 0) -> dict[str, Any]:
    project.write(".handrail/flows/f.yaml", "phases:\n- id: a\n  steps:\n" + "".join(f"  - {one}\n" for one in steps))
    return project.json("run", "f", code=code)


def test_a_step_may_be_a_line_for_the_shell(project: Project) -> None:
    ended = ran(project, "{id: x, run: 'echo one | tr a-z A-Z > out; cat out'}")
    assert ended["phases"][0]["steps"][0]["value"]["output"] == "ONE\n"
    assert (project.folder / "out").exists()


def test_it_may_be_a_list_and_have_the_other_params_of_a_command(project: Project) -> None:
    ended = ran(
        project,
        "{id: x, run: [sh, -c, 'exit 3'], params: {mayFail: true}}",
        "{id: y, run: 'echo $WHO', params: {env: {WHO: '${steps.a.x.outputs.exitCode}; rm -rf x'}}}",
    )
    first, second = ended["phases"][0]["steps"]
    assert (first["value"]["exitCode"], second["value"]["output"]) == (3, "3; rm -rf x\n")


def test_its_failure_fails_the_step_and_a_repeat_runs_it_in_each_round(project: Project) -> None:
    assert ran(project, "{id: x, run: exit 3}", code=1)["status"] == "failed"
    project.write(
        ".handrail/flows/g.yaml",
        "phases:\n- repeat: {var: i, to: 3}\n  phases:\n  - {id: 'p-${i}', steps: [{id: x, run: echo x >> log}]}\n",
    )
    assert project.run("run", "g").code == 0
    assert (project.folder / "log").read_text() == "x\nx\nx\n"


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("{id: x, run: 'echo ${params.who}'}", "a line for the shell takes no `${...}`"),
        ("{id: x, run: make, node: command}", "a step with `run` takes neither `node` nor `argv`"),
        ("{id: x, run: make, params: {argv: [make]}}", "a step with `run` takes neither `node` nor `argv`"),
        ("{id: x, run: '  '}", "`run` is blank"),
        ("{id: x, run: 3}", "`run` has to be text or a list, found a whole number `3`"),
        ("{id: x, run: make, prompt: Do it.}", "`command` takes no prompt"),
        ("{id: x, run: []}", "`argv`"),
    ],
)
def test_a_wrong_one_is_one_located_problem(project: Project, step: str, said: str) -> None:
    project.write(".handrail/flows/f.yaml", f"phases:\n- id: a\n  steps:\n  - {step}\n")
    (problem,) = project.json("validate", code=2)["problems"]
    assert said in problem["message"]
    assert problem["line"] == 4


def test_what_is_wrong_in_each_round_is_one_problem(project: Project) -> None:
    steps = "[{id: x, run: make, node: command}]"
    rounds = f"- repeat: {{var: i, to: 3}}\n  phases:\n  - {{id: 'p-${{i}}', steps: {steps}}}\n"
    project.write(".handrail/flows/f.yaml", f"phases:\n{rounds}")
    (problem,) = project.json("validate", code=2)["problems"]
    assert "a step with `run` takes neither `node` nor `argv`" in problem["message"]


def test_editors_know_it() -> None:
    def is_right(**step: object) -> bool:
        flow = {"phases": [{"id": "a", "steps": [{"id": "x", **step}]}]}
        return bool(jsonschema.Draft7Validator(editor_schema("flow", Registry())).is_valid(flow))

    assert is_right(run="make")
    assert is_right(run=["make", "it"], params={"mayFail": True})
    assert is_right(node="command", params={"argv": ["make"]})
    assert not is_right(run="make", node="command")
    assert not is_right(run="make", prompt="Do it.")
    assert not is_right()
