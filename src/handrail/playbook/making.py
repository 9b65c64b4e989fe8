"""Makes a playbook: the facts of a project, the evidence of a draft, and the files, which are never overwritten."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from handrail.playbook.checks import found_checks
from handrail.playbook.files import path_and_line
from handrail.playbook.repository import Repository
from handrail.playbook.rules import rules_of
from handrail.playbook.survey import Fact, Seen, survey
from handrail.source.plain import counted, some
from handrail.state.files import real_inside
from handrail.state.regular import Unreadable, read_regular

MAX_EVIDENCE = 4 * 1_048_576


def facts_of(repository: Repository) -> list[Fact]:
    """What the files of a project say about how its people work."""
    checks = found_checks(repository.project)
    tests = tuple((" ".join(check.argv), check.source) for check in checks)
    manager = next((check.argv[0] for check in checks if check.source == "package.json"), "npm")
    return survey(Seen(repository.paths, repository.text, tests, tuple(repository.scripts), manager))


def about_project(facts: Iterable[Fact]) -> dict[str, list[str]]:
    """The languages and the frameworks, for the manifest."""
    every = list(facts)
    kinds = {"languages": "language", "frameworks": "framework"}
    return {name: [fact.value for fact in every if fact.kind == kind] for name, kind in kinds.items()}


def draft_from(facts: list[Fact], project: str) -> dict[str, Any]:
    """A draft of a playbook from the facts alone."""
    about = about_project(facts)
    built = f", with {some(about['frameworks'], 6)}" if about["frameworks"] else ""
    languages = some(about["languages"], 6) if about["languages"] else "files"
    rules = rules_of(facts)
    told = f"{counted(len(rules), 'practice')} from the files of the project" if rules else "No practices were found"
    return {
        "summary": f"{project}: {languages}{built}.\n\n{told}.",
        "accepted_rules": rules,
    }


def wrong_evidence(project: str, rules: Iterable[dict[str, Any]]) -> list[str]:
    """What is wrong with the evidence of rules: a path outside, a file or a line that does not exist."""
    wrong: list[str] = []
    for rule in rules:
        for evidence in rule["evidence_paths"]:
            why = _why_no_evidence(project, evidence)
            if why is not None:
                wrong.append(f"the evidence `{evidence}` of `{rule['title']}` {why}")
    return wrong


def _why_no_evidence(project: str, evidence: str) -> str | None:
    """Why evidence is none; None if its file exists, and its line, too. A file's own name may end with `:3`."""
    if os.path.isabs(evidence):
        return "is an absolute path"
    path, line = path_and_line(evidence)
    if line is not None and _exists(project, evidence):
        return None
    real = real_inside(project, path)
    if real is None:
        return "leads out of the project"
    if not _exists(project, path):
        return "does not exist"
    if line is None:
        return None
    try:
        count = len(read_regular(real, MAX_EVIDENCE).splitlines())
    except Unreadable as error:
        return error.message
    return None if 1 <= line <= max(1, count) else f"does not exist: the file has {counted(count, 'line')}"


def _exists(project: str, path: str) -> bool:
    real = real_inside(project, path)
    return real is not None and os.path.exists(real)
