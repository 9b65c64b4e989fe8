"""Workflow folders with random content: the result is a spec, or problems that can be formatted."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fuzz.inputs import mutated, pieces, share
from handrail.base import jsonlite
from handrail.extensions.registry import Registry
from handrail.guided.sessions import words
from handrail.guided.sessions.machine import State
from handrail.guided.workflows.keys import EXIT, PHASE, TOOLS, WORKFLOW
from handrail.guided.workflows.load import Loaded, exit_checks, load
from handrail.guided.workflows.plan import plan_from_json, plan_to_json
from handrail.guided.workflows.spec import compile_plan
from handrail.source.definition_files import Root
from handrail.source.diagnostics import Diagnostic, as_github, diagnostic_text, has_errors, sorted_problems
from handrail.source.fields import union_shape

WORKFLOW_TEXT = b"""\
name: Release
commandName: release
initialMessage: "Begin with {firstPhaseName}"
loopable: false
show: user
sessionNameMaxLength: 20
roleInstruction: |
  You follow {workflowNam}.
phases:
  - one.md
  - two.md
"""
PHASE_TEXT = b"""\
---
id: one
name: One
emoji: "1"
tools:
  blacklist: [bash, edit]
availableProfiles: [fast]
exit:
  - run: [make, test]
    timeout: 60
  - file: notes.md
---

Do {phaseNam} for {description}.
"""
SHAPES = (WORKFLOW, PHASE, TOOLS, union_shape("exit", "", exit_checks(Registry()), EXIT))
KEYS = tuple(f"{field.name}: " for shape in SHAPES for field in shape.fields)
VALUES = ("true\n", "12\n", "1.5\n", "-1\n", "9e99\n", "[a, b]\n", "{a: b}\n", "|\n  x\n", '""\n', "~\n", '"\\0"\n')
WORDS = ("subworkflow: ", "one.md", "../x", "/etc", "{phaseNme}", "- ", "  ", "\n", "---\n", "\x00", "\x1b[2J", "é")
SIGNS = (*KEYS, *VALUES, *WORDS)
NOISE = pieces(*SIGNS, most=5).map(lambda text: text.encode("utf-8", "replace"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("definitions") / "release"
    path.mkdir()
    return path


def check(folder: Path, workflow: bytes, one: bytes, two: bytes) -> None:
    for name, data in (("workflow.yaml", workflow), ("one.md", one), ("two.md", two)):
        (folder / name).write_bytes(data)
    loaded = load(Root(str(folder.parent)), str(folder), Registry())
    assert (loaded.spec is None) == has_errors(loaded.problems)
    for problem in sorted_problems(loaded.problems):
        check_problem(problem, folder)
    check_plan(loaded)


def has_control_characters(text: str) -> bool:
    """True if the text has control characters, line separators or lone surrogates."""
    return any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in text)


def check_problem(problem: Diagnostic, folder: Path) -> None:
    """The problem can be printed in all formats, and its place is in a file of the workflow."""
    assert not has_control_characters(diagnostic_text(problem).replace("\n", ""))
    assert not has_control_characters(as_github(problem))
    json.dumps(problem.to_json(), ensure_ascii=False).encode()
    assert Path(problem.file).parent == folder
    text = Path(problem.file).read_bytes().decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.removeprefix("\ufeff").split("\n")
    assert 1 <= problem.line <= len(lines)
    assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1
    assert problem.width >= 1


def check_plan(loaded: Loaded) -> None:
    """The loaded workflow can be compiled, stored, read again and shown."""
    if loaded.spec is None or loaded.spec.references:
        return
    plan = compile_plan({loaded.key: loaded.spec}, loaded.key)
    assert plan_from_json(jsonlite.loads(jsonlite.dumps(plan_to_json(plan)))) == plan
    for at in range(len(plan.stops)):
        state = State("active", at, task="task")
        assert words.context_text(plan, state)
        assert words.status_line(plan, state)


@share("load: any bytes")
@given(st.binary(), st.binary() | st.just(PHASE_TEXT), st.binary())
def test_any_bytes_give_a_spec_or_printable_problems(folder: Path, workflow: bytes, one: bytes, two: bytes) -> None:
    check(folder, workflow, one, two)


SECOND_PHASE = PHASE_TEXT.replace(b"id: one", b"id: two")


@pytest.mark.whole
@share("load: nearly a workflow")
@given(
    mutated(st.just(WORKFLOW_TEXT), NOISE),
    mutated(st.just(PHASE_TEXT), NOISE),
    mutated(st.just(SECOND_PHASE), NOISE) | NOISE,
)
@example(WORKFLOW_TEXT.replace(b"one.md", b'"a\\0b"'), PHASE_TEXT, SECOND_PHASE)
@example(WORKFLOW_TEXT, PHASE_TEXT.replace(b"60", b"9" * 390), SECOND_PHASE)
@example(WORKFLOW_TEXT, PHASE_TEXT.replace(b"60", b".nan"), SECOND_PHASE)
@example(WORKFLOW_TEXT.replace(b"20", b"9" * 390), PHASE_TEXT, SECOND_PHASE)
@example(WORKFLOW_TEXT.replace(b"one.md", b"x" * 5_000), PHASE_TEXT, SECOND_PHASE)
@example(WORKFLOW_TEXT.replace(b"one.md", b"one.md/x"), PHASE_TEXT, SECOND_PHASE)
@example(WORKFLOW_TEXT.replace(b"one.md", "é\u2028.md".encode()), PHASE_TEXT, SECOND_PHASE)
@example(WORKFLOW_TEXT + b"".join(b"key%d: 1\n" % n for n in range(3_000)), PHASE_TEXT, SECOND_PHASE)
@example(WORKFLOW_TEXT, PHASE_TEXT + b"{phaseNam}\n" * 1_000, PHASE_TEXT + b"{phaseNam}" * 1_000)
def test_a_mutated_workflow_gives_a_spec_or_printable_problems(
    folder: Path, workflow: bytes, one: bytes, two: bytes
) -> None:
    check(folder, workflow, one, two)


def test_the_workflow_is_valid_before_the_mutation(folder: Path) -> None:
    """Otherwise the test above would only try invalid workflows."""
    check(folder, WORKFLOW_TEXT, PHASE_TEXT, SECOND_PHASE)
    assert load(Root(str(folder.parent)), str(folder), Registry()).spec is not None
