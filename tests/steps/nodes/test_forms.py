"""Nodes about forms: what they make from files, what they ask, and the files that they write."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from typing import Any

import pytest

from support import Project

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def flow(project: Project, node: str, params: dict[str, Any]) -> None:
    step = {"id": "x", "node": node, "params": {name: {"const": value} for name, value in params.items()}}
    project.write(".handrail/flows/f.json", json.dumps({"phases": [{"id": "a", "steps": [step]}]}))


def run(project: Project, node: str, params: dict[str, Any], *argv: str, code: int = 0) -> Any:
    flow(project, node, params)
    (step,) = project.json("run", "f", *argv, code=code)["phases"][0]["steps"]
    return step["error"] if code == 1 else step["value"]


def answered(project: Project, node: str, params: dict[str, Any], answers: Any, code: int = 0) -> Any:
    project.write("answers.json", json.dumps(answers))
    return run(project, node, params, "--answers", "answers.json", code=code)


FORM: dict[str, Any] = {"formId": "f", "title": "T", "outputFile": "new/out.json"}
FIELDS: list[dict[str, Any]] = [
    {"id": "go", "type": "boolean", "label": "Go on"},
    {"id": "why", "type": "text", "label": "Why"},
    {"id": "one", "type": "single-select", "label": "One", "options": [{"value": "a", "label": "Alpha"}, "b"]},
    {"id": "many", "type": "multi-select", "label": "Many", "options": [{"value": "a", "label": "Alpha"}, "b"]},
]


def test_user_input_has_all_outputs_and_its_file(project: Project) -> None:
    answers = {"go": True, "why": "", "one": "a", "many": ["a", "b"]}
    value = answered(project, "user-input", {**FORM, "fields": FIELDS, "submitLabel": "Send"}, answers)
    assert TIME.fullmatch(value["submittedAt"])
    assert value["values"] == answers
    assert value["summaryText"] == "Go on: yes\nWhy: -\nOne: Alpha\nMany: Alpha, b"
    assert "File with the answers: new/out.json" in value["promptSuffix"]
    assert value["promptSuffix"].endswith(f"\n\n{value['summaryText']}")
    text = (project.folder / "new/out.json").read_text()
    assert text.startswith('{\n  "form_id": "f",')
    assert text.endswith("}\n")
    assert json.loads(text) == {"form_id": "f", "submitted_at": value["submittedAt"], "values": answers}


@pytest.mark.parametrize("none", ['{"ref": "params.none"}', "[]", '{"const": []}', '{"list": []}'])
def test_a_form_without_fields_is_answered_at_once(project: Project, none: str) -> None:
    flow(project, "user-input", FORM)
    path = project.folder / ".handrail/flows/f.json"
    path.write_text(path.read_text().replace('"params": {', f'"params": {{"fields": {none}, '))
    assert project.json("validate")["problems"] == []
    (step,) = project.json("run", "f", "--param", "none=[]")["phases"][0]["steps"]
    assert step["value"]["values"] == {}
    assert (step["value"]["promptSuffix"], step["value"]["summaryText"]) == ("", "")
    assert json.loads((project.folder / "new/out.json").read_text())["values"] == {}


def test_initial_values_are_defaults_where_they_fit(project: Project) -> None:
    initial = {"go": True, "why": "because", "one": "c", "many": ["b", "b"], "other": 1}
    params = {**FORM, "fields": FIELDS, "initialValues": initial}
    assert answered(project, "user-input", params, {"f": {}})["values"] == {
        "go": True,
        "why": "because",
        "one": None,
        "many": ["b"],
    }
    assert answered(project, "user-input", {**params, "initialValues": None}, {"f": {}})["values"]["why"] == ""


def test_without_an_output_file_nothing_is_written_or_published(project: Project) -> None:
    value = answered(project, "user-input", {**FORM, "fields": FIELDS[:1], "outputFile": None}, {"go": True})
    assert "outputFile" not in value
    assert "File with" not in value["promptSuffix"]


def test_the_answers_are_published(project: Project) -> None:
    flow(project, "user-input", {**FORM, "fields": FIELDS[:1]})
    project.write("answers.json", '{"go": true}')
    ended = project.json("run", "f", "--answers", "answers.json")
    assert [artifact["path"] for artifact in ended["artifacts"]] == ["new/out.json"]


REVIEW: list[dict[str, Any]] = [
    {"id": "apply_all", "type": "boolean", "label": "All"},
    {"id": "selected_findings", "type": "multi-select", "label": "F", "options": ["Leak", "Race"]},
    {"id": "extra_notes", "type": "text", "label": "N"},
]
SOURCE = [
    {"id": id_, "type": "text", "label": id_} for id_ in ("jira_ref", "task_description", "additional_instructions")
]


def test_a_selection_of_findings_tells_the_agent_what_to_fix(project: Project) -> None:
    params = {**FORM, "formId": "review-fix-selection", "fields": REVIEW}
    value = answered(project, "user-input", params, {"selected_findings": ["Race"], "extra_notes": "be quick"})
    assert value["promptSuffix"].split("\n\n")[1:] == [
        "Selection file: new/out.json",
        "apply_all: false",
        "Fix these findings:\n- Race",
        "Notes of the person:\nbe quick",
    ]
    assert value["summaryText"] == "Fix these findings:\n- Race\n\nNotes:\nbe quick"
    value = answered(project, "user-input", params, {"apply_all": True})
    assert value["summaryText"] == "Fix all findings."


@pytest.mark.parametrize(
    ("form", "fields", "answers", "said"),
    [
        ("review-fix-selection", REVIEW, {"apply_all": False}, "`selected_findings` chooses nothing"),
        (
            "review-fix-selection",
            REVIEW,
            {"apply_all": True, "selected_findings": ["Leak"]},
            "`selected_findings` does not",
        ),
        ("review-fix-selection", REVIEW[:1], {"apply_all": False}, "`apply_all` chooses nothing"),
        (
            "task-describe-source-input",
            SOURCE,
            {"jira_ref": " "},
            "`task_description` or `jira_ref` has to be filled in",
        ),
        ("task-describe-source-input", SOURCE, {"jira_ref": "A-1", "task_description": "b"}, "and not both"),
    ],
)
def test_answers_that_do_not_go_together_are_refused(
    project: Project, form: str, fields: Any, answers: Any, said: str
) -> None:
    flow(project, "user-input", {**FORM, "formId": form, "fields": fields})
    project.write("answers.json", json.dumps(answers))
    refused = project.run("run", "f", "--answers", "answers.json")
    assert refused.code == 1
    assert said in refused.err


@pytest.mark.parametrize(
    ("form", "answers", "suffix", "summary"),
    [
        ("task-describe-source-input", {"jira_ref": "A-1"}, [], "Source: Jira, A-1"),
        (
            "task-describe-source-input",
            {"jira_ref": "A-1", "additional_instructions": "soon"},
            ["File with the answers: new/out.json", "soon"],
            "Source: Jira, A-1\n\nAdditional instructions:\nsoon",
        ),
        (
            "task-describe-source-input",
            {"task_description": "tea"},
            ["File with the answers: new/out.json", "tea"],
            "Source: a description\n\ntea",
        ),
        (
            "instant-task-input",
            {"task_description": "tea", "additional_instructions": "hot"},
            ["File with the answers: new/out.json", "tea", "Additional instructions:\nhot"],
            "tea\n\nAdditional instructions:\nhot",
        ),
    ],
)
def test_a_described_task_is_told_to_the_agent(
    project: Project, form: str, answers: Any, suffix: list[str], summary: str
) -> None:
    value = answered(project, "user-input", {**FORM, "formId": form, "fields": SOURCE}, answers)
    assert value["promptSuffix"].split("\n\n")[1:] == suffix
    assert value["summaryText"] == summary


KILLER = """
import os, signal, sys
import handrail.base.files as files
real = os.replace
def replace(old, new):
    real(old, new)
    if new.endswith("out.json"):
        os.kill(os.getpid(), signal.SIGKILL)
os.replace = replace
from handrail.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("has_fields", [True, False])
def test_the_time_of_an_answer_stays_the_same_over_a_resume(project: Project, has_fields: bool) -> None:
    """Handrail is killed after the file was written and before the step was recorded as finished."""
    flow(project, "user-input", {**FORM, "fields": FIELDS[:1]})
    path = project.folder / ".handrail/flows/f.json"
    if not has_fields:
        path.write_text(path.read_text().replace(json.dumps({"const": FIELDS[:1]}), '{"ref": "params.none"}'))
    project.write("answers.json", '{"go": true}')
    words = ["run", "f", "--answers", "answers.json", "--param", "none=[]"]
    argv = [sys.executable, "-c", KILLER, *words]
    killed = subprocess.run(
        argv, cwd=project.folder, env=dict(os.environ), capture_output=True, timeout=60, check=False
    )
    assert killed.returncode == -signal.SIGKILL, killed
    before = (project.folder / "new/out.json").read_text()
    (project.folder / "new/out.json").unlink()
    ended = project.json("resume", project.json("runs")["runs"][0]["run"])
    assert (project.folder / "new/out.json").read_text() == before
    assert ended["phases"][0]["steps"][0]["value"]["submittedAt"] == json.loads(before)["submitted_at"]


QUESTIONS = {
    "summary": " Two things ",
    "questions": [
        {"id": " size ", "question": "How big?", "details": "in cm", "required": False, "multiline": True},
        {"question": "  "},
        {"question": "When?", "placeholder": "today"},
        {"id": "size", "question": "Again?"},
    ],
}


def test_planning_questions_become_a_form(project: Project) -> None:
    project.write("q.json", json.dumps(QUESTIONS))
    value = run(project, "planning-questions-form", {**FORM, "planningQuestionsJsonFile": "q.json"})
    assert (value["questionCount"], value["summary"], value["description"]) == (3, "Two things", "")
    assert value["fields"] == [
        {
            "id": "size",
            "type": "text",
            "label": "How big?",
            "help": "in cm",
            "required": False,
            "multiline": True,
            "default": "",
        },
        {
            "id": "question_3",
            "type": "text",
            "label": "When?",
            "placeholder": "today",
            "required": True,
            "multiline": False,
            "default": "",
        },
        {"id": "question_4", "type": "text", "label": "Again?", "required": True, "multiline": False, "default": ""},
    ]
    missing = run(project, "planning-questions-form", {**FORM, "planningQuestionsJsonFile": "none.json"})
    assert (missing["fields"], missing["questionCount"], missing["summary"]) == ([], 0, "")


FINDINGS = {
    "findings": [
        {"title": " Leak ", "severity": "high", "description": "It leaks."},
        {"title": "Done", "severity": "low", "disposition": "Resolved"},
        {"severity": "low", "description": "no title"},
        {"title": "Race"},
        {"title": "Leak", "description": "Here, too."},
    ]
}
ASSESSMENT = {
    "assessments": [
        {
            "finding_title": "Leak",
            "verdict": "true",
            "rationale": "seen",
            "proposed_fix": "close",
            "fix_required": True,
        },
        {"finding_title": "Leak", "verdict": "false"},
    ]
}


def test_review_findings_become_a_form(project: Project) -> None:
    project.write("r.json", json.dumps(FINDINGS))
    project.write("a.json", json.dumps(ASSESSMENT))
    params = {**FORM, "reviewFindingsJsonFile": "r.json", "reviewAssessmentJsonFile": "a.json"}
    value = run(project, "review-findings-form", params)
    everything, chosen, notes = value["fields"]
    assert (everything["id"], everything["default"], notes["id"]) == ("apply_all", False, "extra_notes")
    assert chosen["options"] == [
        {
            "value": "Leak",
            "label": "Leak | high",
            "description": "It leaks.\n\nVerdict: true\n\nRationale: seen\n\nProposed fix: close\n\nFix required: yes"
            "\n\nHere, too.",
        },
        {"value": "Race", "label": "Race | -", "description": ""},
    ]
    assert value["findingCount"] == 2
    project.write("r.json", '{"findings": []}')
    for given in (None, " "):
        value = run(project, "review-findings-form", {**params, "reviewAssessmentJsonFile": given})
        assert [(field["id"], field["default"]) for field in value["fields"]] == [
            ("apply_all", True),
            ("extra_notes", ""),
        ]


STATUS = {
    "files": [
        {"xy": " M", "file": "-a b"},
        {"xy": "R ", "file": "new", "originalFile": "old"},
    ]
}


def test_a_file_with_credentials_is_offered_but_not_chosen(project: Project) -> None:
    names = [".agentweaver/.env", ".env", "env", ".env.example"]
    project.write("s.json", json.dumps({"files": [{"xy": "??", "file": name} for name in names]}))
    flow(project, "select-files-form", {**FORM, "gitStatusJsonFile": "s.json"})
    (asked,) = project.json("run", "f", code=4)["questions"]
    (field,) = asked["form"]["fields"]
    assert [option["value"] for option in field["options"]] == names
    assert field["default"] == ["env", ".env.example"]


def test_files_are_chosen_from_a_status(project: Project) -> None:
    project.write("s.json", json.dumps(STATUS))
    params = {**FORM, "gitStatusJsonFile": "s.json"}
    flow(project, "select-files-form", params)
    (asked,) = project.json("run", "f", code=4)["questions"]
    assert [option["label"] for option in asked["form"]["fields"][0]["options"]] == [" M -a b", "R  old -> new"]
    value = answered(project, "select-files-form", params, {"f": {}})
    assert value["values"] == {"selected_files": ["-a b", "new"]}
    value = answered(project, "select-files-form", params, {"selected_files": ["new"]})
    written = json.loads((project.folder / "new/out.json").read_text())
    assert written == {"form_id": "f", "submitted_at": value["submittedAt"], "values": {"selected_files": ["new"]}}
    flow(project, "select-files-form", params)
    project.write("answers.json", '{"selected_files": []}')
    assert project.run("run", "f", "--answers", "answers.json").code == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"subject": " Add tea ", "body": "Hot."}', "Add tea"),
        ("Add tea\n", "Add tea"),
        ('"quoted" words', '"quoted" words'),
    ],
)
def test_a_proposed_message_is_the_default(project: Project, text: str, message: str) -> None:
    project.write("m.json", text)
    params = {**FORM, "commitMessageFile": "m.json"}
    assert answered(project, "commit-message-form", params, {"f": {}})["values"] == {"commit_message": message}
    changed = answered(project, "commit-message-form", params, {"commit_message": "Mine"})
    assert changed["values"] == {"commit_message": "Mine"}


def test_a_commit_is_confirmed_in_one_form(project: Project) -> None:
    project.write("s.json", json.dumps(STATUS))
    project.write("m.json", '{"subject": "Add tea", "body": "Hot."}')
    params = {**FORM, "gitStatusJsonFile": "s.json", "commitMessageFile": "m.json"}
    value = answered(project, "git-commit-form", params, {"selected_files": ["new"]})
    assert value["values"] == {"selected_files": ["new"], "commit_message": "Add tea\n\nHot.", "confirm": True}
    assert "did not confirm" in answered(project, "git-commit-form", params, {"confirm": False}, code=1)


def test_a_refused_commit_is_not_asked_about_again_by_a_resume(project: Project) -> None:
    project.write("s.json", json.dumps(STATUS))
    project.write("m.json", '{"subject": "Add tea"}')
    flow(project, "git-commit-form", {**FORM, "gitStatusJsonFile": "s.json", "commitMessageFile": "m.json"})
    project.write("answers.json", '{"confirm": false}')
    run_ = project.json("run", "f", "--answers", "answers.json", code=1)["run"]
    project.write("m.json", '{"subject": "Add coffee"}')
    project.write("s.json", json.dumps({"files": STATUS["files"][:1]}))
    again = project.json("resume", run_, code=1)
    assert (again["status"], again["reason"], again["questions"]) == ("failed", "not-confirmed at a/x", [])
    assert project.json("restart", run_, code=4)["questions"]


NODES = {
    "planning-questions-form": "planningQuestionsJsonFile",
    "review-findings-form": "reviewFindingsJsonFile",
    "select-files-form": "gitStatusJsonFile",
    "commit-message-form": "commitMessageFile",
}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"findings": [}', "is not JSON: Expecting value at line 1, column 15"),
        ("[" * 100_000, "is not JSON"),
        ("[1]", "has to hold an object, found a list"),
        ('{"findings": {}, "questions": {}, "files": {}}', "has to be a list, found a mapping"),
        ('{"findings": [1], "questions": [1], "files": [1]}', "has to be an object, found the number `1`"),
        (b"\xff{}", "is not UTF-8 text"),
        (b"x" * (16 * 1024 * 1024 + 1), "has more than"),
    ],
)
@pytest.mark.parametrize("node", list(NODES)[:3])
def test_damaged_files_are_failures_with_a_place(project: Project, node: str, text: str | bytes, said: str) -> None:
    project.write("d.json", "")
    (project.folder / "d.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    error = run(project, node, {**FORM, NODES[node]: "d.json"}, code=1)
    assert said in error
    assert "`d.json`" in error


@pytest.mark.parametrize("node", NODES)
def test_files_outside_of_the_project_are_not_read(project: Project, node: str, tmp_path: Any) -> None:
    (tmp_path / "x.json").write_text("{}")
    (project.folder / "link.json").symlink_to(tmp_path / "x.json")
    assert "leads out of the project" in run(project, node, {**FORM, NODES[node]: "link.json"}, code=1)
    if node != "planning-questions-form":
        assert "does not exist" in run(project, node, {**FORM, NODES[node]: "none.json"}, code=1)
