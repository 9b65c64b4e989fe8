"""Maps Handrail's diagnostics to the warnings of pi-workflows.

pi-workflows stops at the first problem of a workflow and uses one kind for several problems, so a match is only
possible, not certain.
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
    "nested-broken": ("dangling-subworkflow",),
    "command-twice": ("duplicate-command",),
}
CAUSES = {"not-found": ("file-missing", "phase-entry"), "is-directory": ("path-folder", "phase-entry")}
BROKEN_RULES = {
    "command-name-pattern": ("command-name", "blank-text"),
    "instructions-blank": ("instructions-blank",),
    "subworkflow-key-blank": ("subworkflow-blank",),
}


def kinds(problem: Diagnostic) -> tuple[str, ...]:
    """The kinds of pi-workflows that may match this problem. Empty if pi-workflows does not know it."""
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
    """True if this problem matches the warning of pi-workflows."""
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
    """The file of the problem, and the file that it refers to."""
    asked = os.path.join(os.path.dirname(problem.file), named(problem)[0])
    return {problem.file, os.path.normpath(asked)}


def unanswered(
    warnings: Iterable[Mapping[str, Any]], problems: Iterable[Diagnostic], root: str
) -> list[Mapping[str, Any]]:
    """The warnings of pi-workflows that match no problem. A cycle has to be reported at each of its members."""
    wanted: list[Mapping[str, Any]] = []
    for warning in warnings:
        members = warning.get("members")
        wanted.extend([{"kind": "cycle", "workflow": key} for key in members] if members else [warning])
    found = list(problems)
    return [warning for warning in wanted if not any(answers(problem, warning, root) for problem in found)]
