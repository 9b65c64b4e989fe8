"""The nodes for the playbook of a project: is there one, what is the project like, ask, write, and guide."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.driven.artifacts.project_files import ProjectFiles
from steps.nodes.single import alone, as_flow, read, refused, value
from support import Project

MANIFEST = ".handrail/playbook/manifest.yaml"
RULE = {"id": "r", "title": "Small: steps", "rule": "Commit often.", "evidence_paths": ["Makefile"]}
DRAFT = {
    "summary": "A project.",
    "generated_at": "now",
    "accepted_rules": [RULE],
    "candidate_rules": [],
    "unresolved_questions": [],
    "evidence_paths": ["b", "a: #x"],
    "proposed_files": ["manifest.yaml", "project.md"],
}
WRITE = {"draftJsonFile": "draft.json", "answersJsonFile": "answers.json", "writeResultJsonFile": "out/result.json"}
QUESTION = {"id": "q1", "text": "Which database?", "rationale": "Not seen.", "candidate_ids": [], "answer_kind": "text",
            "evidence_paths": ["a"]}  # fmt: skip


def valid(project: Project, path: str, schema: str) -> Any:
    assert ProjectFiles(str(project.folder)).against_schema(path, schema) is None
    return read(project, path)


def playbook(
    project: Project, manifest: str = "version: 1\nproject: {name: P}\nalways_include: [project.md]\n"
) -> None:
    project.write(MANIFEST, manifest)
    project.write(".handrail/playbook/project.md", "# P\n")


def ensure(project: Project, **more: Any) -> Any:
    found = value(as_flow(project, "playbook-ensure", writeResultJsonFile="out/result.json", **more))
    written = valid(project, "out/result.json", "playbook-write-result/v1")
    assert {name: found[name] for name in written} == written
    assert found["manifestPath"] == str(project.folder / MANIFEST)
    return found


def test_a_missing_playbook_is_made_only_if_that_is_allowed(project: Project) -> None:
    found = ensure(project)
    assert (found["status"], found["shouldRunPlaybookInit"]) == ("blocked", False)
    found = ensure(project, acceptPlaybookDraft=True)
    assert (found["status"], found["shouldRunPlaybookInit"]) == ("missing_playbook", True)
    assert ensure(project, acceptPlaybookDraft=None, verifyAfterInit=True)["status"] == "blocked"
    project.write("out/result.json", '{"status": "dry_run_written"}')
    assert ensure(project, verifyAfterInit=True)["status"] == "dry_run_written"


def test_a_valid_playbook_is_used(project: Project) -> None:
    playbook(project)
    found = ensure(project, acceptPlaybookDraft=True)
    assert (found["status"], found["shouldRunPlaybookInit"]) == ("skipped_valid_existing", False)
    assert found["existing_playbook_path"] == found["manifestPath"]


@pytest.mark.parametrize(
    ("manifest", "why"),
    [
        ("", "has to be `key: value` lines, found nothing"),
        ("- a\n", "found a list"),
        ("a: [\n", "manifest.yaml:1:5"),
        ("version: 2\n", "`version` has to be 1"),
        ("version: 1\nproject: {}\n", "`name` is missing"),
        ("version: 1\nproject: {name: P}\npractices: {}\n", "names no files"),
        ("version: 1\nproject: {name: P}\npractices: {paths: [none.md]}\n", "`none.md` does not exist"),
        ("version: 1\nproject: {name: P}\npractices: {paths: [../../x.md]}\n", "leads out of the folder"),
        ("version: 1\nproject: {name: P}\npractices: {globs: ['p/**/*.md']}\n", "no file of the playbook matches"),
        ("version: 1\nproject: {name: P}\nalways_include: x\n", "has to be a list"),
    ],
)
def test_an_invalid_playbook_is_named(project: Project, manifest: str, why: str) -> None:
    project.write("x.md", "mine")
    playbook(project, manifest)
    found = ensure(project)
    assert (found["status"], why in found["message"]) == ("invalid_manifest", True), found["message"]


def test_globs_of_a_playbook_match_files_at_any_depth(project: Project) -> None:
    playbook(project, "version: 1\nproject: {name: P}\npractices: {globs: ['p/**/*.md', 'e?.md']}\n")
    entry = "---\nid: {0}\ntitle: {0}\n---\nx\n"
    project.write(".handrail/playbook/p/a.md", entry.format("a"))
    assert ensure(project)["status"] == "invalid_manifest"
    project.write(".handrail/playbook/e1.md", entry.format("e1"))
    assert ensure(project)["status"] == "skipped_valid_existing"


FILES = {
    "package.json": '{"scripts": {"test": "x", "build": "y"}}',
    "go.mod": "module x",
    "pkg/a_test.go": "import gomock",
    "tests/deep/test_a.py": "",
    "api/openapi.yaml": "",
    ".env.example": "",
    "node_modules/x/package.json": "{}",
    ".git/config": "",
    "src/service.ts": "// nothing",
    ".github/workflows/ci.yml": "",
}


def inventory(project: Project) -> Any:
    params = {"outputJsonFile": "out/i.json", "outputFile": "out/i.md"}
    ended = as_flow(project, "playbook-inventory", **params)
    assert {made["path"] for made in ended["artifacts"]} == set(params.values())
    return value(ended), valid(project, "out/i.json", "repo-inventory/v1")


def test_an_inventory_lists_what_files_say(project: Project) -> None:
    for name, text in FILES.items():
        project.write(name, text)
    found, data = inventory(project)
    kinds = {row["kind"]: row for name in data if isinstance(data[name], list) for row in data[name] if "kind" in row}
    assert kinds["node_package"]["evidence_paths"] == ["package.json"]
    assert kinds["npm_scripts"]["details"] == {"scripts": ["build", "test"]}
    assert kinds["go_tests"]["evidence_paths"] == kinds["mocks_usage"]["evidence_paths"] == ["pkg/a_test.go"]
    assert kinds["test_directories"]["evidence_paths"] == ["tests/deep"]
    assert kinds["services"]["evidence_paths"] == ["src/service.ts"]
    assert set(kinds) >= {
        "openapi_specification",
        "environment_files",
        "ci_config",
        "api_or_specification",
        "go_module",
    }
    assert "dockerfile" not in kinds
    assert found["evidenceCount"] == len(data["evidence"])
    assert "- Go module: go.mod" in (project.folder / "out/i.md").read_text()


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("a.ts", "const f = vi.fn()", "mocks_usage"),
        ("a.js", "jest.fn()", "mocks_usage"),
        ("a.py", "from unittest import mock", "mocks_usage"),
        ("config/main.rb", "", "runtime_config_files"),
        ("deploy/configs/prod", "", "runtime_config_files"),
    ],
)
def test_an_inventory_finds(project: Project, path: str, text: str, kind: str) -> None:
    project.write(path, text)
    data = inventory(project)[1]
    found = {row["kind"]: row["evidence_paths"] for name in ("test_structure", "runtime_configs") for row in data[name]}
    assert found[kind] == [path]


def test_an_inventory_survives_strange_files(project: Project) -> None:
    project.write("package.json", "[" * 50_000)
    os.mkfifo(project.folder / "pipe.go")
    os.symlink("/", project.folder / "root")
    (project.folder / os.fsdecode(b"bad-\xff_test.go")).write_text("x")
    project.write("big.go", "gomock " * 100_000)
    data = inventory(project)[1]
    assert [row["kind"] for row in data["stack_indicators"]] == ["node_package"]
    assert not any(path.startswith("root/") for path in data["evidence"])


def ask(project: Project, *argv: str, code: int = 0, **more: Any) -> Any:
    params = {"questionsJsonFile": "q.json", "answersJsonFile": "out/a.json", "formId": "f", "title": "T", **more}
    return as_flow(project, "playbook-questions-form", *argv, code=code, **params)


def questions(project: Project, *rows: dict[str, Any]) -> None:
    project.write("q.json", json.dumps({"summary": "s", "questions": list(rows)}))


def test_questions_are_asked_and_the_answers_kept(project: Project) -> None:
    questions(project, QUESTION, {**QUESTION, "id": "q2"})
    project.write("answers.yaml", "f: {q1: none}\n")
    found = value(ask(project, "--answers", "answers.yaml"))
    assert (found["questionCount"], found["finalWriteAccepted"]) == (2, False)
    data = valid(project, "out/a.json", "playbook-answers/v1")
    assert data["answers"] == [{"question_id": "q1", "answer": "none"}, {"question_id": "q2", "answer": ""}]
    assert data["final_write_accepted"] is False
    project.write("answers.yaml", "f: {final_write_accepted: true}\n")
    ended = ask(project, "--answers", "answers.yaml", mode="acceptance")
    assert value(ended)["finalWriteAccepted"] is True
    kept = valid(project, "out/a.json", "playbook-answers/v1")
    assert (kept["answers"], kept["final_write_accepted"]) == (data["answers"], True)


def test_a_run_waits_for_answers_and_without_questions_nobody_is_asked(project: Project) -> None:
    questions(project, QUESTION)
    assert ask(project, code=4)["status"] == "waiting"
    assert ask(project, code=4, mode="acceptance")["status"] == "waiting"
    assert not (project.folder / "out").exists()
    assert value(ask(project, mode="acceptance", acceptDraft=True))["finalWriteAccepted"] is True
    questions(project)
    assert value(ask(project, acceptDraft=True))["finalWriteAccepted"] is True


def test_questions_that_cannot_be_read_are_named(project: Project) -> None:
    params = {"questionsJsonFile": "q.json", "answersJsonFile": "a.json", "formId": "f", "title": "T"}
    assert refused(project, "playbook-questions-form", **params)[0] == "inputs-missing"
    project.write("q.json", '{"summary": "s", "questions": [{"id": "x"}]}')
    assert refused(project, "playbook-questions-form", **params)[0] == "inputs-invalid"
    assert refused(project, "playbook-questions-form", **params, mode="other")[0] == "params"
    questions(project, QUESTION)
    project.write("a.json", "broken")
    given = {**params, "mode": "acceptance", "acceptDraft": True}
    assert refused(project, "playbook-questions-form", **given)[0] == "inputs-invalid"


def accepted(project: Project, *, is_accepted: bool = True, draft: dict[str, Any] = DRAFT) -> None:
    project.write("Makefile", "all:\n\ttrue\n")
    answers = {"summary": "s", "answered_at": "now", "answers": [], "final_write_accepted": is_accepted}
    project.write("answers.json", json.dumps(answers))
    project.write("draft.json", json.dumps(draft))


def written(project: Project) -> dict[str, str]:
    root = project.folder / ".handrail/playbook"
    return {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*") if path.is_file()}


def test_an_accepted_draft_becomes_a_valid_playbook(project: Project) -> None:
    accepted(project)
    found = value(as_flow(project, "playbook-write", **WRITE))
    assert (found["status"], len(found["written_files"])) == ("written", 3)
    valid(project, "out/result.json", "playbook-write-result/v1")
    files = written(project)
    assert set(files) == {"manifest.yaml", "project.md", "practices/r.md"}
    assert "Commit often.\n\nEvidence: `Makefile`" in files["practices/r.md"]
    assert ensure(project)["status"] == "skipped_valid_existing"


def test_a_draft_that_was_not_accepted_writes_nothing(project: Project) -> None:
    accepted(project, is_accepted=False)
    assert value(as_flow(project, "playbook-write", **WRITE))["status"] == "not_accepted"
    assert not (project.folder / ".handrail/playbook").exists()


def test_files_of_others_are_never_changed(project: Project) -> None:
    accepted(project)
    playbook(project)
    before = written(project)
    assert value(as_flow(project, "playbook-write", **WRITE))["status"] == "skipped_valid_existing"
    project.write(MANIFEST, "version: 7\n")
    found = value(as_flow(project, "playbook-write", **WRITE))
    assert (found["status"], str(project.folder / MANIFEST) in found["blocked_paths"]) == ("blocked", True)
    (project.folder / MANIFEST).unlink()
    assert value(as_flow(project, "playbook-write", **WRITE))["status"] == "blocked"
    assert written(project) == {"project.md": before["project.md"]}


def test_a_broken_draft_writes_nothing(project: Project) -> None:
    accepted(project, draft={**DRAFT, "accepted_rules": [{"id": "x"}]})
    assert refused(project, "playbook-write", **WRITE)[0] == "inputs-invalid"
    assert not (project.folder / ".handrail/playbook").exists()


KILLER = """
import os, signal, sys
real = os.replace
def replace(old, new):
    if not new.endswith(sys.argv[1]):
        return real(old, new)
    if sys.argv[2] == "after":
        real(old, new)
    os.kill(os.getpid(), signal.SIGKILL)
os.replace = replace
from handrail.cli.main import main
sys.exit(main(sys.argv[3:]))
"""


@pytest.mark.whole
@pytest.mark.parametrize(("file", "moment"), [("practices/r.md", "before"), ("manifest.yaml", "after")])
def test_a_killed_write_is_finished_by_resume(project: Project, file: str, moment: str) -> None:
    accepted(project)
    flow = {"phases": [{"id": "a", "steps": [{"id": "x", "node": "playbook-write", "params": WRITE}]}]}
    project.write(".handrail/flows/one.json", json.dumps(flow))
    argv = [sys.executable, "-c", KILLER, file, moment, "run", "one"]
    killed = subprocess.run(argv, cwd=project.folder, capture_output=True, timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    id_ = project.json("runs")["runs"][0]["run"]
    assert value(project.json("resume", id_))["status"] == "written"
    assert len(written(project)) == 3


GUIDE = {"taskContextJsonFile": "task.json", "outputJsonFile": "out/g.json", "outputFile": "out/g.md"}


def guide(project: Project, phase: str = "plan", **more: Any) -> tuple[Any, Any]:
    project.write("task.json", '{"title": "Add tea", "source_type": "manual", "notes": ["see src/tea.py", 3]}')
    ended = as_flow(project, "project-guidance", **GUIDE, phase=phase, markdownLanguage=None, **more)
    assert {made["path"] for made in ended["artifacts"]} == {"out/g.json", "out/g.md"}
    return value(ended), valid(project, "out/g.json", "project-guidance/v1")


@pytest.mark.parametrize(
    ("phase", "shown"), [("plan", "plan"), ("design_review", "design-review"), ("repair", "repair/review-fix")]
)
def test_without_a_playbook_there_is_no_guidance_and_no_failure(project: Project, phase: str, shown: str) -> None:
    found, data = guide(project, phase)
    assert (found["status"], found["phase"], len(data["warnings"])) == ("missing_playbook", shown, 1)
    assert data["task_signals"]["referenced_paths"] == ["src/tea.py"]
    assert "no playbook" in (project.folder / "out/g.md").read_text()


def test_guidance_has_the_practices_that_fit_the_task(project: Project) -> None:
    playbook(project, "version: 1\nproject: {name: P}\npractices: {globs: ['p/*.md']}\nalways_include: [project.md]\n")
    entry = "---\nid: {0}\ntitle: The {0}\napplies_to: {{languages: [{0}]}}\n---\nUse {0}.\n"
    project.write(".handrail/playbook/p/a.md", entry.format("python"))
    project.write(".handrail/playbook/p/b.md", entry.format("go"))
    found, data = guide(project)
    assert (found["status"], data["always_include"]) == ("available", [".handrail/playbook/project.md"])
    assert [row["id"] for row in data["selected_practices"]] == ["python"]
    assert data["selected_practices"][0]["inline_content"] == "Use python."
    assert data["warnings"] == []
    text = (project.folder / "out/g.md").read_text()
    assert "### The python" in text
    assert "Use go." not in text


def test_the_budget_of_the_manifest_holds(project: Project) -> None:
    manifest = "version: 1\nproject: {name: P}\npractices: {globs: ['p/*.md']}\ncontext_budgets: {plan: 4}\n"
    playbook(project, manifest)
    for name in "ab":
        project.write(f".handrail/playbook/p/{name}.md", f"---\nid: {name}\ntitle: T\n---\nTen chars.\n")
    data = guide(project)[1]
    assert (data["budget"]["limit"], data["budget"]["used"]) == (4, 3)
    assert [row["reference_only"] for row in data["selected_practices"]] == [False, True]
    assert [row["reason"] for row in data["skipped_items"]] == ["over_budget"]
    assert guide(project, budgetLimit=6)[1]["budget"]["used"] == 6


def test_an_invalid_playbook_fails_unless_a_diagnosis_is_wanted(project: Project) -> None:
    playbook(project, "version: 3\n")
    project.write("task.json", "{}")
    assert refused(project, "project-guidance", **GUIDE, phase="plan")[0] == "playbook"
    found, data = guide(project, invalidPlaybookPolicy="write_diagnostic_artifact")
    assert (found["status"], data["source_playbook"]["valid"]) == ("invalid_playbook", False)


def test_wrong_params_of_guidance_are_failures(project: Project) -> None:
    assert refused(project, "project-guidance", **GUIDE, phase="plan")[0] == "inputs-missing"
    project.write("task.json", "{}")
    for more in ({"phase": "cook"}, {"phase": "plan", "budgetLimit": -1}, {"phase": "plan", "inlineThreshold": " "}):
        assert refused(project, "project-guidance", **GUIDE, **more)[0] == "params"
    assert alone(project, "project-guidance", **GUIDE, phase="plan")["status"] == "missing_playbook"
    outside = {**GUIDE, "outputFile": "../g.md"}
    assert refused(project, "project-guidance", **outside, phase="plan")[0] == "path-escape"
    assert not Path("../g.md").exists()


@pytest.mark.parametrize(
    ("evidence", "why"),
    [
        ("none.txt", "does not exist"),
        ("Makefile:3", "does not exist: the file has 2 lines"),
        ("../outside", "leads out of the project"),
        ("/etc/hosts", "is an absolute path"),
    ],
)
def test_evidence_that_does_not_exist_is_refused(project: Project, evidence: str, why: str) -> None:
    accepted(project, draft={**DRAFT, "accepted_rules": [RULE, {**RULE, "evidence_paths": ["Makefile:2", evidence]}]})
    code, message = refused(project, "playbook-write", **WRITE)
    assert (code, f"`{evidence}` of `Small: steps` {why}" in message) == ("evidence", True), message
    assert not (project.folder / ".handrail/playbook").exists()
