"""Runs `handrail validate` on a corpus of projects and compares the exact output.

`HANDRAIL_UPDATE_CORPUS=1` writes the expected output again. Review the diff before you commit it.
"""

from __future__ import annotations

import os
import re
import shutil
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import yaml

from corpus_tools import CORPUS, EXPECTED, build, cases, code_of
from handrail.source.codes import problem_kinds
from support import Project

BROKEN = [*cases("err"), *cases("many"), *cases("hostile")]
UPDATE = bool(os.environ.get("HANDRAIL_UPDATE_CORPUS"))
KEYS = ["code", "severity", "file", "line", "column", "message", "hint"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project(tmp_path, monkeypatch, capsys)


def problems_of(project: Project, *argv: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = project.run("validate", *argv, "--json").data["problems"]
    return found


def notes_of(project: Project, *argv: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = project.run("validate", *argv, "--json").data["notes"]
    return found


@pytest.mark.whole(59)
@pytest.mark.parametrize("case", BROKEN)
def test_problems_are_printed_exactly_as_expected(case: str, project: Project) -> None:
    if case.startswith("err/yaml-syntax") and not yaml.__with_libyaml__:
        pytest.skip("without libyaml, the parser finds the same mistakes, but some messages differ")
    build(case, project.folder)
    said = project.run("validate")
    printed = f"exit {said.code}\n{said.out}"
    file = CORPUS / case / EXPECTED
    if UPDATE:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(printed, encoding="utf-8")
    assert printed == file.read_text(encoding="utf-8")
    check_output(printed, project.folder)
    check_problems(case, project, said.code)


def check_output(printed: str, folder: Path) -> None:
    """The output has no control characters, no paths of this machine and no very long lines."""
    assert str(folder.parent) not in printed
    for line in printed.split("\n"):
        assert len(line) < 900
        forbidden = [c for c in line if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\u200d"]
        assert not forbidden, line


def check_problems(case: str, project: Project, code: int) -> None:
    """The JSON output has known codes with their severity, in order, and messages without a final full stop."""
    found, notes = problems_of(project), notes_of(project)
    assert code == (2 if any(p["severity"] == "error" for p in found) else 0)
    assert found == sorted(found, key=lambda p: (p["file"], p["line"], p["column"], p["code"], p["message"]))
    about = code_of(case)
    assert about is None or about in {p["code"] for p in (*found, *notes)}
    for p in (*found, *notes):
        assert list(p) == KEYS
        assert p["code"] in problem_kinds()
        is_profile = p["code"] == "wrong-type" and "`availableProfiles`" in p["message"]
        assert p["severity"] == ("warning" if is_profile else problem_kinds()[p["code"]].severity)
        assert p["line"] >= 1
        assert p["column"] >= 1
        for sentence in filter(None, (p["message"], p["hint"])):
            assert not sentence.endswith((".", "\n", " "))


def test_every_rule_has_a_case_and_every_case_a_rule() -> None:
    about = {case: code_of(case) for case in cases("err")}
    assert set(about.values()) == set(problem_kinds())


@pytest.mark.parametrize("case", cases("ok"))
def test_a_healthy_project_has_no_problems(case: str, project: Project) -> None:
    build(case, project.folder)
    said = project.run("validate")
    assert (said.code, said.err) == (0, "")
    assert re.fullmatch(r"no problems in \d+ workflows(( and|,) \d+ (flows?|settings file|schemas?))*\n", said.out)
    written = {file.parent.name for file in project.folder.rglob("workflow.yaml")}
    usable = {row["key"] for row in project.json("list")["workflows"] if row["source"] == "project"}
    assert usable == written
    roots = (project.folder / ".handrail/flows", project.folder / ".agentweaver/.flows")
    files = {str(file.relative_to(project.folder)) for root in roots for file in root.rglob("*.*ml")}
    files |= {str(file.relative_to(project.folder)) for file in roots[1].rglob("review.json")}
    assert {row["file"] for row in project.json("list")["flows"]} == files


def test_a_workflow_may_use_workflows_of_the_user(project: Project) -> None:
    build("ok/tiers", project.folder)
    mine = project.home / "config" / "workflows"
    shutil.copytree(project.folder / ".handrail/workflows/review", mine / "mine")
    shutil.copytree(
        project.folder / ".handrail/workflows/review", project.folder.parent / "user/.pi/agent/workflows/pi"
    )
    for key, below in (("top", "mine"), ("bottom", "pi")):
        text = f"name: {key}\nshow: workflows\nphases: [{{subworkflow: {below}}}]\n"
        project.write(f".handrail/workflows/{key}/workflow.yaml", text)
    assert problems_of(project) == []
    (mine / "mine" / "look.md").unlink()
    assert [(p["code"], p["file"]) for p in problems_of(project)] == [
        ("file-missing", str(mine / "mine" / "workflow.yaml")),
    ]
    assert [p["file"] for p in notes_of(project)] == [".handrail/workflows/top/workflow.yaml"]


def test_json_output_is_one_object_with_ok_and_problems(project: Project) -> None:
    build("err/bad-value-near", project.folder)
    said = project.run("validate", "--json")
    assert said.code == 2
    assert said.data == {
        "ok": False,
        "trusted": True,
        "problems": [
            {
                "code": "bad-value",
                "severity": "error",
                "file": ".handrail/workflows/ship/workflow.yaml",
                "line": 2,
                "column": 7,
                "message": "`show` has to be `user` or `workflows`, found `workflow`",
                "hint": "did you mean `workflows`?",
            }
        ],
        "notes": [],
        "checked": {"workflows": 4, "flows": 0, "settings": 0, "schemas": 0, "playbooks": 0, "projects": 1},
    }


def test_warnings_without_errors_are_ok(project: Project) -> None:
    build("err/command-twice", project.folder)
    said = project.run("validate", "--json")
    assert (said.code, said.data["ok"], len(said.data["problems"])) == (0, True, 1)


def test_the_number_of_problems_is_printed_to_stderr(project: Project) -> None:
    build("many/workflow", project.folder)
    assert project.run("validate").err == "15 errors, 3 warnings\n"


def test_the_github_format_prints_annotations(project: Project) -> None:
    build("err/command-twice", project.folder)
    build("err/yaml-syntax-control", project.folder.parent / "second")
    shutil.move(
        project.folder.parent / "second/.handrail/workflows/ship", project.folder / ".handrail/workflows/100%, a:b"
    )
    said = project.run("validate", "--format", "github")
    syntax = "::error file=.handrail/workflows/100%25%2C a%3Ab/workflow.yaml,line=5,col=23,title=yaml-syntax::"
    twice = "::warning file=.handrail/workflows/ship/workflow.yaml,line=2,col=14,title=command-twice::"
    assert said.code == 2
    assert said.out == (
        f"{syntax}the character U+001B is not allowed in YAML; remove it, or write it in double quotes "
        "as an escape such as `\\x1b`\n"
        f"{twice}command `ship` already starts `send`; give one of them another `commandName`; until then, this one "
        "cannot be started\n"
    )


def test_the_github_format_prints_nothing_without_problems(project: Project) -> None:
    build("ok/tiers", project.folder)
    assert project.run("validate", "--format", "github") == (0, "", "")


def test_annotations_for_unusual_file_names_take_one_line_each(project: Project) -> None:
    build("hostile/file-names", project.folder)
    lines = project.run("validate", "--format", "github").out.splitlines()
    assert len(lines) == 5
    assert all(line.isprintable() and line.startswith("::error file=.handrail/workflows/") for line in lines)


@pytest.mark.parametrize("name", ["middle", "middle/workflow.yaml", "middle/../middle/"])
def test_a_path_selects_the_problems_of_one_workflow_and_of_what_it_uses(name: str, project: Project) -> None:
    build("err/nested-broken-workflow", project.folder)
    build("err/tools-both", project.folder)
    path = f".handrail/workflows/{name}"
    found = problems_of(project, path)
    assert [(p["code"], p["file"]) for p in found] == [("phases-empty", ".handrail/workflows/inner/workflow.yaml")]
    assert [p["file"] for p in notes_of(project, path)] == [".handrail/workflows/middle/workflow.yaml"]
    assert project.run("validate", path).code == 2


def test_what_only_uses_a_broken_definition_is_no_error_of_its_own(project: Project) -> None:
    build("err/nested-broken-workflow", project.folder)
    build("err/nested-broken-flow", project.folder)
    said = project.run("validate")
    assert (said.code, said.err) == (2, "2 errors\n")
    assert said.out.rindex(": error[") < said.out.index(": note[nested-broken]: ")
    assert [p["code"] for p in project.json("list")["problems"]] == ["node-unknown", "phases-empty"]


@pytest.mark.parametrize("path", ["outer.yaml", "middle.yaml"])
def test_the_path_of_a_flow_shows_the_cause_in_the_flow_that_it_runs(path: str, project: Project) -> None:
    build("err/nested-broken-flow", project.folder)
    found = problems_of(project, f".handrail/flows/{path}")
    assert [(p["code"], p["file"]) for p in found] == [("node-unknown", ".handrail/flows/inner.yaml")]


@pytest.mark.parametrize(
    ("case", "command", "expected"),
    [
        ("nested-broken-flow", ("run", "outer"), "flow `outer` cannot be used: `.handrail/flows/inner.yaml`"),
        ("nested-broken-flow", ("show", "middle"), "flow `middle` cannot be used: `.handrail/flows/inner.yaml`"),
        (
            "nested-broken-workflow",
            ("run", "outer", "task"),
            "workflow `outer` cannot be used: `.handrail/workflows/inner/workflow.yaml`",
        ),
        (
            "nested-broken-workflow",
            ("start", "outer", "task"),
            "workflow `outer` cannot be used: `.handrail/workflows/inner/workflow.yaml`",
        ),
    ],
)
def test_who_starts_it_is_told_which_file_has_the_error(
    case: str, command: tuple[str, ...], expected: str, project: Project
) -> None:
    build(f"err/{case}", project.folder)
    said = project.run(*command)
    assert said.code == 2
    assert said.err.startswith(f"error: {expected} has 1 error\n.handrail/")
    assert said.err.splitlines()[-1].startswith("hint: run `handrail validate .handrail/")


def test_who_runs_a_definition_with_an_error_sees_the_error_itself(project: Project) -> None:
    project.write(".handrail/flows/ship.yaml", "phases:\n- {id: a, steps: [{id: x, node: sett}]}\n")
    (problem,) = project.run("validate").out.strip().split("\n\n")
    said = project.run("run", "ship")
    assert (said.code, problem in said.err) == (2, True)
    assert project.json("run", "ship", code=2)["error"]["problems"] == project.json("validate", code=2)["problems"]


def test_a_path_may_be_a_phase_file_of_a_workflow(project: Project) -> None:
    build("err/tools-both", project.folder)
    assert [p["code"] for p in problems_of(project, ".handrail/workflows/ship/plan.md")] == ["tools-both"]


def test_several_paths_are_checked_together(project: Project) -> None:
    build("err/nested-broken-workflow", project.folder)
    found = problems_of(project, ".handrail/workflows/outer", ".handrail/workflows/inner")
    assert [p["code"] for p in found] == ["phases-empty"]


@pytest.mark.parametrize("name", ["", "/team", "/team/ship", "/_shared"])
def test_a_path_in_a_valid_project_has_no_problems(name: str, project: Project) -> None:
    build("ok/nested-folders", project.folder)
    assert problems_of(project, f".handrail/workflows{name}") == []


def test_a_folder_of_workflows_may_be_outside_any_project(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = project.folder.parent / "outside"
    build("ok/nested-folders", outside)
    shutil.copytree(CORPUS / "err/key-twice/.handrail/workflows/a", outside / ".handrail/workflows/again")
    (outside / ".handrail").rename(outside / "definitions")
    monkeypatch.chdir(outside)
    again = "definitions/workflows/again/review/workflow.yaml"
    found = problems_of(project, "definitions/workflows")
    assert [(p["code"], p["file"]) for p in found] == [("key-twice", again)]
    monkeypatch.chdir(project.folder)
    found = problems_of(project, str(outside / "definitions/workflows"))
    assert [(p["code"], p["file"]) for p in found] == [("key-twice", str(outside / again))]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere", "`nowhere` does not exist"),
        ("empty", "there is no workflow and no flow in `empty`"),
        ("notes.md", "`notes.md` is not part of a workflow: there is no `workflow.yaml` beside it"),
    ],
)
def test_a_path_without_a_workflow_is_a_usage_error(name: str, message: str, project: Project) -> None:
    (project.folder / "empty").mkdir()
    project.write("notes.md", "nothing\n")
    said = project.run("validate", name)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"error: {message}\n")


def test_the_program_prints_the_same_as_the_function(project: Project) -> None:
    build("hostile/wide-and-tabs", project.folder)
    said = project.process("validate", NO_COLOR="")
    expected = (CORPUS / "hostile/wide-and-tabs" / EXPECTED).read_text(encoding="utf-8")
    assert f"exit {said.code}\n{said.out}" == expected
    assert said.err == "2 errors, 2 warnings\n"


def test_the_program_accepts_file_names_that_are_not_utf_8(project: Project) -> None:
    build("hostile/file-names", project.folder)
    said = project.process("validate", "--json")
    assert (said.code, len(said.data["problems"]), said.err) == (2, 5, "")
