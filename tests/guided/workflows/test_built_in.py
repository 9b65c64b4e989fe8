"""The built-in workflows: the scripted agent works through each, and no phase is left without its proof."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import handrail
from handrail.driven.artifacts.schemas import artifact_table, builtin_schema
from handrail.driven.forms.form import SEVERITIES
from steps.nodes.repositories import Checkout, isolate
from support import Project

ROOT = Path(__file__).parents[3]
BUILT_IN = Path(handrail.__file__).parent / "builtin" / "workflows"
WORK = ".handrail/work"
EXAMPLES = runpy.run_path(str(ROOT / "scripts" / "examples.py"))
CHECK = "grep -q two code.txt\n"
Line = dict[str, Any]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    project = Project(tmp_path, monkeypatch, capsys)
    isolate(monkeypatch)
    repository = Checkout(project.folder)
    repository.write("code.txt", "one\n")
    repository.commit()
    monkeypatch.setenv("HANDRAIL_SCRIPT", str(tmp_path / "script.yaml"))
    return project


def writes(path: str, content: str) -> Line:
    return {"tool": "write", "input": {"path": path, "content": content}}


def document(name: str, schema: str) -> Line:
    return writes(f"{WORK}/{name}.json", json.dumps(EXAMPLES["load"]("schemas", schema)["value"]))


def runs(command: str) -> Line:
    return {"tool": "bash", "input": {"command": command}}


def done(phase: str) -> Line:
    return {"step": "next", "summary": phase}


SCRIPT_OF_PROOF = writes(f"{WORK}/check.sh", CHECK)
CHANGE = writes("code.txt", "two\n")
REVIEW = [
    done("collect"),
    done("inspect"),
    document("review", "review-findings/v1"),
    done("report"),
    document("review-fix", "review-fix-report/v1"),
    done("fix-findings"),
]
SCRIPTS: dict[str, list[Line]] = {
    "review": REVIEW,
    "plan-build-review": [
        done("plan"),
        document("plan", "implementation-plan/v1"),
        SCRIPT_OF_PROOF,
        done("write-plan"),
        CHANGE,
        done("build"),
        *REVIEW,
        done("wrap-up"),
    ],
    "bug-fix": [
        done("understand"),
        SCRIPT_OF_PROOF,
        done("reproduce"),
        document("bug-analyze", "bug-analysis/v1"),
        done("diagnose"),
        CHANGE,
        done("fix"),
        *REVIEW,
    ],
}


def drive(project: Project, name: str, lines: list[Line], code: int = 0) -> dict[str, Any]:
    project.write("../script.yaml", json.dumps(lines))
    ended = project.json("run", f"workflow:{name}", "it", "--agent", "scripted", code=code)
    return dict(ended)


def refused_at(project: Project, name: str, before: str, *lines: Line) -> str:
    """The agent does something more before it leaves a phase. Returns the text that refuses to let it go."""
    script = SCRIPTS[name]
    at = next(number for number, line in enumerate(script) if line.get("summary") == before)
    path = project.write("../script.yaml", json.dumps([*script[:at], *lines]))
    project.json("start", name, "it", "--session", "S")
    argv = [sys.executable, "-m", "handrail.agents.scripted", str(path), str(project.folder), "S"]
    subprocess.run(argv, capture_output=True, timeout=120, check=True)
    assert project.json("status", "--session", "S")["phase"]["id"] == before
    return project.json("next", "--session", "S", code=5)["message"]  # type: ignore[no-any-return]


@pytest.mark.whole
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_agent_works_through_it(project: Project, name: str) -> None:
    value = drive(project, name, SCRIPTS[name])["phases"][0]["steps"][0]["value"]
    assert (value["status"], value["denied"]) == ("done", 0)
    phases = [line["summary"] for line in SCRIPTS[name] if "step" in line]
    assert [one["summary"] for one in value["summaries"]] == phases[-3:]
    assert (project.folder / WORK / "review.json").is_file()


@pytest.mark.whole
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_second_task_does_not_pass_with_the_files_of_the_first(project: Project, name: str) -> None:
    drive(project, name, SCRIPTS[name])
    Checkout.git(project_repository(project), "checkout", "-q", "--", ".")
    only_next = [line for line in SCRIPTS[name] if "step" in line]
    project.write("../script.yaml", json.dumps(only_next))
    project.run("run", f"workflow:{name}", "it", "--agent", "scripted")
    session = next(one for one in project.json("sessions")["sessions"] if one["phase"] is not None)
    assert session["phase"]["id"] in ("report", "write-plan", "reproduce")


def project_repository(project: Project) -> Checkout:
    repository = Checkout.__new__(Checkout)
    repository.folder = project.folder
    return repository


@pytest.mark.whole(7)
@pytest.mark.parametrize(
    ("name", "phase"),
    [("review", "inspect"), ("review", "report"), ("plan-build-review", "write-plan"), ("bug-fix", "diagnose")],
)
@pytest.mark.parametrize("command", ["echo three > code.txt", "echo new > other.txt"])
def test_a_phase_that_only_reads_is_not_left_after_a_change_by_any_means(
    project: Project, name: str, phase: str, command: str
) -> None:
    message = refused_at(project, name, phase, runs(command))
    assert "no file of the project has changed" in message
    assert command.rpartition(" ")[2] in message


def test_the_command_of_a_bug_has_to_fail_before_the_fix_and_to_pass_after_it(project: Project) -> None:
    message = refused_at(project, "bug-fix", "reproduce", writes(f"{WORK}/check.sh", "true\n"))
    assert "the command fails, because of the bug" in message


@pytest.mark.whole
@pytest.mark.parametrize(("name", "phase"), [("bug-fix", "fix"), ("plan-build-review", "build")])
def test_the_proof_of_a_change_is_run(project: Project, name: str, phase: str) -> None:
    message = refused_at(project, name, phase, writes("code.txt", "still one\n"))
    assert "`sh .handrail/work/check.sh` ended with exit code 1" in message


def test_a_review_has_to_match_its_schema(project: Project) -> None:
    message = refused_at(project, "review", "report", writes(f"{WORK}/review.json", '{"summary": "x"}'))
    assert "ready_to_merge" in message


def test_the_examples_in_the_phases_match_the_schemas_and_the_names_are_those_of_the_flows() -> None:
    seen = set()
    for file in sorted(BUILT_IN.rglob("*.md")):
        text = file.read_text(encoding="utf-8")
        for path, schema in re.findall(r"path: \.handrail/work/([\w-]+)\.json, schemaId: ([\w/-]+)\}", text):
            assert artifact_table().kinds[f"{path}-json-file"].schema == schema
            (block,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
            assert problems_of(json.loads(block.replace("high, medium or low", "high")), schema) == []
            seen.add(path)
    assert seen == {"plan", "bug-analyze", "review", "review-fix"}


def problems_of(value: Any, schema: str) -> list[str]:

    found = builtin_schema(schema)
    assert found is not None
    return [error.message for error in jsonschema.Draft202012Validator(found).iter_errors(value)]


def test_a_workflow_of_the_project_has_a_whole_review_or_a_short_one(project: Project) -> None:
    project.workflow("mine", ["a", "@review", "@code-review"])
    ids = [stop["id"] for stop in project.json("show", "mine")["stops"]]
    assert ids == ["a", "collect", "inspect", "report", "fix-findings", "inspect", "fix-findings"]
    assert project.run("start", "code-review", "x").code == 1


def test_a_workflow_and_a_flow_have_the_same_words_for_severities() -> None:
    words = ", ".join(f"`{name}`" for name in SEVERITIES[:-1]) + f" or `{SEVERITIES[-1]}`"
    for name in ("review/report.md", "code-review/inspect.md"):
        assert words in " ".join((BUILT_IN / name).read_text(encoding="utf-8").split())


def test_no_phase_tells_a_person_to_use_an_action_of_the_agents_tool(project: Project) -> None:
    project.json("start", "review", "the change", "--session", "s")
    project.json("goto", "fix-findings", "--reason", "read it", "--session", "s")
    assert "start the review over" in project.run("status").out
    for file in BUILT_IN.rglob("*.md"):
        assert not re.search(r'action\s+"', file.read_text()), file
