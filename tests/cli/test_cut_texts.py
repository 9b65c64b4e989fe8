"""A message that leaves something out says so with `…`."""

from __future__ import annotations

import pytest

from handrail.agents.opencode.driver import LONGEST_COMPLAINT
from handrail.base.processes import tail
from handrail.driven.artifacts.names import name_text, safe_extension, safe_name, scope_name, whole_iteration
from handrail.driven.artifacts.schemas import problems_of
from handrail.source.json_reader import read_json
from handrail.source.plain_text import some
from handrail.source.values import Unresolved, shown
from support import Project

NINE = [f"n{number}" for number in range(9)]
LONG = "x" * 50
CUT = f"{'x' * 39}…"


def test_a_long_text_ends_with_a_mark() -> None:
    assert (shown("x" * 40), shown(LONG)) == ("x" * 40, CUT)
    assert len(shown("x" * 20_000, LONGEST_COMPLAINT)) == LONGEST_COMPLAINT


def test_a_long_list_of_names_ends_with_a_mark() -> None:
    assert some(NINE[:8]) == "n0, n1, n2, n3, n4, n5, n6, n7"
    assert some(NINE) == "n0, n1, n2, n3, n4, n5, n6, n7, …"


def test_a_long_line_of_output_ends_with_a_mark() -> None:
    assert tail("x" * 500) == f"{'x' * 399}…"
    assert tail("x" * 400) == "x" * 400


def test_the_last_line_of_a_failed_command_is_cut_with_a_mark(project: Project) -> None:
    line = "head -c 500 /dev/zero | tr \\\\0 x; exit 1"
    step = f"{{id: x, node: command, params: {{argv: [/bin/sh, -c, '{line}']}}}}"
    project.write(".handrail/flows/demo.yaml", f"phases: [{{id: a, steps: [{step}]}}]\n")
    assert project.json("run", "demo", code=1)["error"] == f"`{line}` ended with 1: {'x' * 399}…"


def test_phases_and_failing_steps_that_are_not_named_are_marked(project: Project) -> None:
    step = "{id: x, node: set, params: {t: '${params.l.9}'}}"
    phases = "".join(f"  - {{id: p{number}, steps: [{step}]}}\n" for number in range(13))
    flow = f"params: {{l: [1]}}\nphases:\n- parallel: {{limit: 2, onFailure: finish}}\n  phases:\n{phases}"
    project.write(".handrail/flows/demo.yaml", flow)
    assert "p10, p11, …" in project.run("run", "demo", "--from", "elsewhere").err
    assert "p6/x, p7/x, …" in project.run("run", "demo", "--dry-run").err


def test_names_that_a_schema_misses_or_does_not_declare_are_marked() -> None:
    assert problems_of({"required": NINE}, {})[0].endswith("`n7`, …")
    assert problems_of({"additionalProperties": False}, dict.fromkeys(NINE, 1))[0].endswith("`n7`, …")


@pytest.mark.parametrize(
    "refuse",
    [
        lambda: whole_iteration(LONG),
        lambda: name_text([LONG], "name"),
        lambda: safe_name(f"{LONG}/", "name"),
        lambda: safe_extension(LONG),
        lambda: scope_name("/" * 50),
    ],
    ids=["iteration", "name", "path", "extension", "scope"],
)
def test_a_long_name_of_an_artifact_is_cut_with_a_mark(refuse: object) -> None:
    assert callable(refuse)
    with pytest.raises(Unresolved, match="…`"):
        refuse()


@pytest.mark.parametrize("text", [f'{{"{LONG}" 1}}', f"[{LONG}]"])
def test_a_long_word_in_json_is_cut_with_a_mark(text: str) -> None:
    _, (trouble,) = read_json(text)
    assert f"`{CUT}`" in trouble.message
