"""The product's diagnostics in the seed's terms: which of its warnings a problem of ours answers.

The seed stops at the first problem of a workflow and has one kind for several; so this says "may be", not "is".
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from handrail.source.diagnostics import Diagnostic

WORKFLOW_FILE = "workflow.yaml"
FIELDS = {
    "name": "name-missing",
    "commandName": "commandName-missing",
    "initialMessage": "initialMessage-missing",
    "phases": "phases-missing",
}
PHASE_FIELDS = {"id": "phase-id-missing", "name": "phase-name-missing", "emoji": "phase-emoji-missing"}
INVALID = "definition-invalid"
KINDS: dict[str, tuple[str, ...]] = {
    "phases-empty": ("phases-missing", INVALID),
    "phase-entry": ("phase-entry-invalid", "phase-load-failed"),
    "subworkflow-blank": (INVALID,),
    "phase-id-twice": (INVALID,),
    "tools-both": (INVALID,),
    "instructions-blank": (INVALID,),
    "command-name": (INVALID,),
    "file-missing": ("phase-load-failed",),
    "path-folder": ("phase-load-failed", "yaml-error"),
    "path-kind": ("phase-load-failed", "yaml-error"),
    "file-unreadable": ("phase-load-failed", "yaml-error"),
    "path-escape": ("path-escape",),
    "front-matter": ("phase-id-missing", "frontmatter-invalid"),
    "subworkflow-cycle": ("cycle",),
    "subworkflow-missing": ("dangling-subworkflow",),
    "command-twice": ("duplicate-command",),
}
CAUSES = {"not-found": ("file-missing", "phase-entry"), "is-directory": ("path-folder", "phase-entry")}
BROKEN_RULES = {
    "command-name-pattern": ("command-name", "blank-text"),
    "instructions-blank": ("instructions-blank",),
    "subworkflow-key-blank": ("subworkflow-blank",),
}


def kinds(problem: Diagnostic) -> tuple[str, ...]:
    """The seed's kinds that this problem may answer; none for one that the seed does not know."""
    is_workflow = os.path.basename(problem.file) == WORKFLOW_FILE
    if problem.code.startswith(("yaml-", "file-encoding", "file-nul")):
        return ("yaml-error",) if is_workflow else ("phase-load-failed", "frontmatter-invalid")
    if problem.code == "not-mapping":
        return ("yaml-not-object", "name-missing") if is_workflow else ("phase-id-missing", "frontmatter-invalid")
    if problem.code in ("missing-key", "wrong-type", "blank-text", "bad-value"):
        field = (FIELDS if is_workflow else PHASE_FIELDS).get(named(problem)[0])
        return (field, INVALID) if field else (INVALID,)
    return KINDS.get(problem.code, ())


def named(problem: Diagnostic) -> list[str]:
    return re.findall(r"`([^`]*)`", problem.message) or [""]


def answers(problem: Diagnostic, warning: Mapping[str, Any], root: str) -> bool:
    """Is this problem of ours the one that the seed warns of?"""
    codes = CAUSES.get(warning.get("cause", "")) or BROKEN_RULES.get(warning.get("rule", ""))
    return (
        warning["kind"] in kinds(problem)
        and (codes is None or problem.code in codes)
        and ("workflow" not in warning or warning["workflow"] == owner(problem))
        and ("file" not in warning or os.path.join(root, warning["file"]) in places(problem))
        and ("target" not in warning or warning["target"] in named(problem))
        and ("command" not in warning or warning["command"] in named(problem))
    )


def owner(problem: Diagnostic) -> str:
    return os.path.basename(os.path.dirname(problem.file))


def places(problem: Diagnostic) -> set[str]:
    """The file itself, and the one that is asked for there."""
    asked = os.path.join(os.path.dirname(problem.file), named(problem)[0])
    return {problem.file, os.path.normpath(asked)}


def unanswered(
    warnings: Iterable[Mapping[str, Any]], problems: Iterable[Diagnostic], root: str
) -> list[Mapping[str, Any]]:
    """The seed's warnings that no problem of ours answers. A cycle has to be told at each of its members."""
    wanted: list[Mapping[str, Any]] = []
    for warning in warnings:
        members = warning.get("members")
        wanted.extend([{"kind": "cycle", "workflow": key} for key in members] if members else [warning])
    found = list(problems)
    return [warning for warning in wanted if not any(answers(problem, warning, root) for problem in found)]
