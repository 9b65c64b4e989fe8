"""Every code with which steps, runs, sessions and commands end is explained, and no other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import handrail
from handrail.extensions.contracts import OUTCOMES
from handrail.source.codes import endings, problem_kinds
from support import Project

SOURCE = Path(handrail.__file__).parent
PLACES = {
    "NodeError": 0,
    "LastingError": 0,
    "Unresolved": 0,
    "FlowFailed": 1,
    "StepFailed": 1,
    "Refusal": 0,
    "RunEnded": 4,
}
PLACES |= {"RetryableFailure": 0, "_final": 0}
PLACES |= {"not_ready": 0, "trying": 0}  # of `ready`
PLACES |= {"stop_event": 1}
"""What reports a code, and the place of the code among its arguments."""
PASSED_ON = {
    "error.code",
    "self.error.code",
    "failure.code",
    "errors[0].code",
    "code",
    "None",
    "outcome",
    "code or error.code",
    "BY_EXAM[name]",
}
"""Arguments that pass on the code of another error, or an outcome of an agent."""
STATUSES = {"status.status": "cancelled"}
"""The status of a workflow that ended without being done."""


def calls(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """(what is called, the argument with the code)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            place = PLACES.get(name)
            given = [word.value for word in node.keywords if word.arg == "code"]
            if place is not None and (given or len(node.args) > place):
                yield name, given[0] if given else node.args[place]


def constants(tree: ast.Module) -> dict[str, object]:
    found: dict[str, object] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            found |= {target.id: node.value.value for target in node.targets if isinstance(target, ast.Name)}
    return found


def used_codes() -> set[str]:
    """All codes in the source. An argument that is neither a text nor passed on fails the test."""
    codes = {name for name in OUTCOMES if name != "done"}
    for file in (file for file in SOURCE.rglob("*.py") if not file.is_relative_to(SOURCE / "builtin" / "plugin")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        known = constants(tree)
        for name, argument in calls(tree):
            written = ast.unparse(argument)
            value = argument.value if isinstance(argument, ast.Constant) else known.get(written)
            if isinstance(value, str):
                codes.add(value)
            elif written in STATUSES:
                codes.add(STATUSES[written])
            else:
                assert written in PASSED_ON, f"{file.name}: the code `{written}` of {name} is not known"
        codes |= {code for node in tree.body for code in codes_by_status(node)}
        codes |= {code for kind in ast.walk(tree) if isinstance(kind, ast.ClassDef) for code in error_codes(kind)}
        codes |= {code for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for code in default_codes(node)}
    return codes


def codes_by_status(node: ast.stmt) -> Iterator[str]:
    """The codes in a table with codes per HTTP status, or per check of the doctor."""
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "BY_STATUS":
        yield from ast.literal_eval(node.value).values()
        yield "service-failed"  # for every other status
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "BY_EXAM":
        yield from ast.literal_eval(node.value).values()


def error_codes(kind: ast.ClassDef) -> Iterator[str]:
    """The code of a class of errors."""
    if any(ast.unparse(base) in ("Exception", "HandrailError", "StateError") for base in kind.bases):
        for node in kind.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "code":
                yield ast.literal_eval(node.value)


def default_codes(function: ast.FunctionDef) -> Iterator[str]:
    """The code of the end of a run if its caller names none."""
    defaults = function.args.defaults
    for name, default in zip(reversed(function.args.args), reversed(defaults), strict=False):
        if function.name == "stop_event" and name.arg == "code":
            yield ast.literal_eval(default)


@pytest.mark.whole
def test_every_code_in_the_source_has_an_entry_and_every_entry_is_used() -> None:
    assert used_codes() == set(endings())


def test_entries_are_sorted_sentences() -> None:
    assert list(endings()) == sorted(endings())
    for ending in endings().values():
        assert set(ending.of) <= {"step", "run", "session", "command"}
        assert ending.of
        assert ending.meaning.endswith(".")
        assert ending.cure.endswith(".")


def test_explain_knows_how_steps_runs_and_sessions_end(project: Project) -> None:
    for code in ("ref-unresolvable", "expectation", "agent-missing", "check-failed"):
        said = project.run("explain", code)
        assert said.code == 0
        assert said.out.startswith(f"{code} (the end of a ")
        assert "Solution: " in said.out
    assert project.json("explain", "check-failed")["ending"]["of"] == ["session"]


def test_explain_tells_both_meanings_of_a_code(project: Project) -> None:
    assert "flow-depth" in problem_kinds().keys() & endings().keys()
    said = project.run("explain", "flow-depth").out
    assert said.startswith("flow-depth (error)")
    assert "flow-depth (the end of a step)" in said
    data = project.json("explain", "flow-depth")
    assert (data["severity"], data["ending"]["of"]) == ("error", ["step"])


def test_explain_lists_all_codes_and_suggests_one(project: Project) -> None:
    data = project.json("explain")
    assert (data["codes"], data["endings"]) == (sorted(problem_kinds()), sorted(endings()))
    assert "did you mean `check-failed`?" in project.run("explain", "check-faild").err
