"""Playbooks of AgentWeaver: which ones are valid, what they guide a task by, and what a task says about itself.

`strict` matching, the default, differs from AgentWeaver on purpose, and so do the cases without `seedQuirk`: see
`DIFFERENCES`. The manifest can ask for AgentWeaver's matching, and that is compared here case by case.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance import corpus
from handrail.source.diagnostics import Diagnostic
from handrail.source.yaml_text import read_yaml
from handrail.steps.playbook.guidance import THRESHOLD, Selection, SelectionRequest, select
from handrail.steps.playbook.load import FoundPlaybook, read_playbook
from handrail.steps.playbook.spec import FOREIGN, Playbook
from handrail.steps.playbook.survey import signals_of

DIFFERENCES = {
    "an entry with `applies_to` is left out if nothing in it fits the task": "a rule for Python is noise in a Go task",
    "only keywords of the entry count": "otherwise an entry without keywords matches every task",
    "budgets and `selection` of the manifest hold": "whoever writes a limit expects it to hold",
    "files may have CRLF line ends": "Git makes them on Windows",
    "a task's words may be of any script": "AgentWeaver sees Latin letters only",
}
"""What strict matching and Handrail's reader do instead → why."""
GISTS = {
    "playbook-version": "version-unsupported",
    "file-missing": "file-missing",
    "path-folder": "file-missing",
    "glob-empty": "glob-empty",
    "playbook-id-twice": "id-duplicate",
    "playbook-related": "relation-unknown",
}


def cases(op: str) -> list[Any]:
    file = corpus.folder() / "driven" / "playbook.json"
    data = json.loads(file.read_text("utf-8")) if file.exists() else {"cases": []}
    return [pytest.param(case, id=case["id"]) for case in data["cases"] if case["op"] == op]


def written(case: corpus.Case, folder: Path) -> FoundPlaybook:
    """The playbook of a case, at the place where AgentWeaver has it."""
    (folder / FOREIGN).mkdir(parents=True)
    for name, text in case["files"].items():
        path = folder / FOREIGN / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return read_playbook(str(folder))


@pytest.mark.parametrize("case", cases("load"))
def test_a_playbook_is_valid_if_it_is_in_agentweaver(case: corpus.Case, tmp_path: Path) -> None:
    found = written(case, tmp_path)
    expect = case["expect"].get("preferred") or case["expect"]
    if "seedQuirk" in case and "preferred" not in case["expect"]:
        assert (found.playbook is None) == any(problem.severity == "error" for problem in found.problems)
    elif expect["ok"]:
        assert loaded(found.playbook) == {name: value for name, value in expect.items() if name != "ok"}
    else:
        assert found.playbook is None
        assert expect["gist"] in {gist(problem, tmp_path) for problem in found.problems}


def loaded(playbook: Playbook | None) -> dict[str, Any]:
    assert playbook is not None
    return {
        "practices": [entry.id for entry in playbook.practices],
        "examples": [entry.id for entry in playbook.examples],
        "templates": list(playbook.templates),
        "alwaysInclude": list(playbook.always),
    }


def gist(problem: Diagnostic, folder: Path) -> str:
    is_manifest = problem.file.endswith("manifest.yaml")
    if problem.code == "file-missing" and is_manifest and problem.line == 1 and "manifest.yaml" in problem.message:
        return "manifest-missing"
    if problem.code == "path-escape":
        return "path-absolute" if "absolute" in problem.message else "path-escape"
    if problem.code in GISTS:
        return GISTS[problem.code]
    if problem.code.startswith("yaml-"):
        return "yaml-error"
    return f"field-invalid:{field_of(problem, folder)}"


def field_of(problem: Diagnostic, folder: Path) -> str:
    """The path of the field that a problem is about, as AgentWeaver names it."""
    assert Path(problem.file).is_relative_to(folder)
    text = Path(problem.file).read_text("utf-8").replace("\r\n", "\n")
    is_entry = not problem.file.endswith("manifest.yaml")
    if problem.code == "front-matter" or (is_entry and not text.startswith("---\n")):
        return "frontmatter"
    tree = read_yaml(text.split("\n---")[0].removeprefix("---\n"), 2 if is_entry else 1)[0]
    path = ["frontmatter"] if is_entry else []
    while tree is not None and tree.kind == "mapping":
        inside = [name for name, place in tree.keys.items() if place <= (problem.line, problem.column)]
        if problem.code == "missing-key" and (tree.line, tree.column) == (problem.line, problem.column):
            return ".".join([*path, problem.message.split("`")[1]])
        if problem.code == "playbook-empty" and (tree.line, tree.column) == (problem.line, problem.column):
            return ".".join(path)
        if not inside:
            break
        path.append(inside[-1])
        tree = tree.value[inside[-1]]
    return ".".join(path) or "manifest"


@pytest.mark.parametrize("case", cases("guidance"))
def test_agentweavers_matching_chooses_what_agentweaver_chooses(case: corpus.Case, tmp_path: Path) -> None:
    found = written(case, tmp_path)
    assert found.playbook is not None, found.problems
    chosen = select(found.playbook, wish(case, "agentweaver"))
    assert answered(chosen) == case["expect"]


@pytest.mark.parametrize("case", cases("guidance"))
def test_strict_matching_chooses_less_and_keeps_the_budget(case: corpus.Case, tmp_path: Path) -> None:
    found = written(case, tmp_path)
    playbook = found.playbook
    assert playbook is not None
    ours = select(playbook, wish(case, "strict"))
    theirs = {row["id"] for row in case["expect"].get("practices", ())}
    assert {one.entry.id for one in ours.practices} <= theirs
    limit = case.get("options", {}).get("budgetLimit", playbook.budget(case["phase"]))
    assert (ours.limit, ours.used <= limit) == (limit, True)
    most = playbook.max_examples if playbook.include_examples else 0
    assert most is None or len(ours.examples) <= most
    for one in ours.practices:
        codes = {code for code, _ in one.reasons}
        fits = codes & {"keyword_match", "glob_match", "language_match", "framework_match", "always_include"}
        assert one.entry.applies.is_open or fits, one.entry.id


def wish(case: corpus.Case, matching: str) -> SelectionRequest:
    options = case.get("options") or {}
    limits = options.get("budgetLimit"), options.get("inlineThreshold", THRESHOLD)
    return SelectionRequest(case["phase"], signals_of(case["task"]), *limits, matching)


def answered(chosen: Selection) -> dict[str, Any]:
    return {
        "status": "empty_selection" if chosen.is_empty else "available",
        "practices": [
            {
                "id": one.entry.id,
                "score": one.score,
                "reasons": [code for code, _ in one.reasons],
                "inlined": one.is_told,
            }
            for one in chosen.practices
        ],
        "examples": [one.entry.id for one in chosen.examples],
        "alwaysInclude": list(chosen.always),
        "budget": {"limit": chosen.limit, "used": chosen.used, "inlineThreshold": chosen.threshold},
        "skipped": [[one.entry.id, one.left_out] for one in chosen.chosen if one.left_out],
    }


@pytest.mark.parametrize("case", cases("signals"))
def test_a_task_says_the_same_about_itself(case: corpus.Case) -> None:
    found = signals_of(case["task"]).to_json()
    if "seedQuirk" in case and "preferred" not in case["expect"]:
        assert set(found) == set(case["expect"])
    else:
        assert found == (case["expect"].get("preferred") or case["expect"])
