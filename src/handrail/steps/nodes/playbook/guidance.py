"""`project-guidance`: tells the agents of a phase which practices of the project's playbook to follow.

Without a playbook it says so. Phases of guided workflows get the same practices: `steps.playbook` chooses them.
"""

from __future__ import annotations

import os
from typing import Any

from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.source.diagnostics import as_line
from handrail.source.fields import Field
from handrail.steps.nodes.files.json_files import read_json, write_json, write_text
from handrail.steps.playbook.guidance import THRESHOLD, ChosenEntry, Selection, TaskGuidance, guide
from handrail.steps.playbook.load import FoundPlaybook
from handrail.steps.playbook.spec import BUDGETS, MANIFEST, OWN, phase_key

PHASES = {
    "plan": "plan",
    "design-review": "design-review",
    "design_review": "design-review",
    "implement": "implement",
    "review": "review",
    "repair": "repair/review-fix",
    "review-fix": "repair/review-fix",
    "review_fix": "repair/review-fix",
    "repair/review-fix": "repair/review-fix",
    "repair/review_fix": "repair/review-fix",
}
POLICIES = ("fail_before_prompt", "write_diagnostic_artifact")
NODE = Node(
    about="Writes which practices of the project's playbook the agents of a phase have to follow.",
    params=(
        Field(
            "taskContextJsonFile", ("text",), "the task, as JSON", required=True, shortest=1, names="path"
        ),
        Field("phase", ("text",), "the phase: `plan`, `design-review`, `implement`, `review` or `repair/review-fix`",
              required=True, choices=tuple(PHASES)),
        Field("outputJsonFile", ("text",), "the file for it, as JSON", required=True, shortest=1, names="path"),
        Field("outputFile", ("text",), "the file for it, as Markdown", required=True, shortest=1, names="path"),
        Field("markdownLanguage", ("text", "null"), "accepted because AgentWeaver's flows have it; not used"),
        Field("budgetLimit", ("integer", "null"),
              "how many tokens the practices may have, roughly; by default what the manifest says", least=0),
        Field("inlineThreshold", ("integer", "null"),
              f"how many tokens a practice may have to be told in full; by default {THRESHOLD}", least=0),
        Field("invalidPlaybookPolicy", ("text", "null"), "what happens if the playbook is not valid",
              default=POLICIES[0], choices=POLICIES),
    ),
    others="ignored",
    outputs={
        "status": "`available`, `missing_playbook`, `empty_selection` or `invalid_playbook`",
        "phase": "the phase",
        "outputJsonFile": "the guidance, as JSON",
        "outputFile": "the guidance, as Markdown",
    },
    makes=("outputJsonFile", "outputFile"),
)  # fmt: skip


async def run(work: Work, context: NodeContext) -> Any:
    params = work.params
    source, as_json, as_markdown = (params[name] for name in ("taskContextJsonFile", "outputJsonFile", "outputFile"))
    phase, policy = PHASES[params["phase"]], params.get("invalidPlaybookPolicy") or POLICIES[0]
    limit, threshold = params.get("budgetLimit"), params.get("inlineThreshold")
    threshold = THRESHOLD if threshold is None else threshold
    guidance = guide(context.project, phase, read_json(context, source), limits=(limit, threshold))
    wrong = playbook_error(guidance.found)
    if wrong is not None and policy == POLICIES[0]:
        raise NodeError("playbook", f"the playbook of the project is not valid: {wrong}", transient=False)
    found = _document(guidance, phase, limit, threshold)
    write_json(context, as_json, found)
    write_text(context, as_markdown, _markdown(found, guidance))
    return {"status": found["status"], "phase": phase, "outputJsonFile": as_json, "outputFile": as_markdown}


def playbook_error(found: FoundPlaybook) -> str | None:
    """What is wrong with a playbook: its first error, located. None if it is valid, or if there is none."""
    if not found.has_manifest or found.playbook is not None:
        return None
    error = next(problem for problem in found.problems if problem.severity == "error")
    return as_line(error._replace(file=os.path.relpath(error.file, found.project)))


def _document(guidance: TaskGuidance, phase: str, limit: int | None, threshold: int) -> dict[str, Any]:
    """The guidance as the schema `project-guidance/v1` has it."""
    found, selection = guidance.found, guidance.selection
    status, summary, warnings = _status(guidance)
    budget = limit if limit is not None else BUDGETS[phase_key(phase)]
    limit, used = (budget, 0) if selection is None else (selection.limit, selection.used)
    folder = found.folder or OWN
    about: dict[str, Any] = {
        "root_dir": os.path.join(found.project, folder),
        "manifest_path": os.path.join(found.project, folder, MANIFEST),
        "exists": found.has_manifest,
        "valid": found.playbook is not None,
    }
    wrong = playbook_error(found)
    chosen = _EntryRows(folder, selection)
    return {
        "summary": summary,
        "status": status,
        "phase": phase,
        "source_playbook": about if wrong is None else {**about, "error": wrong},
        "task_signals": guidance.signals.to_json(),
        "selected_practices": chosen.rows("practice"),
        "selected_examples": chosen.rows("example"),
        "always_include": [f"{folder}/{path}" for path in (selection.always if selection else ())],
        "phase_sections": [one.entry.title for one in (selection.practices if selection else ())],
        "budget": {
            "limit": limit,
            "used": used,
            "remaining": max(0, limit - used),
            "inline_threshold": threshold,
            "unit": "approx_tokens",
            "estimator": "chars_div_4",
        },
        "skipped_items": chosen.skipped(),
        "warnings": warnings,
    }


class _EntryRows:
    """The rows of a document about the chosen entries."""

    def __init__(self, folder: str, selection: Selection | None) -> None:
        self.folder = folder
        self.selection = selection

    def rows(self, kind: str) -> list[dict[str, Any]]:
        every = self.selection.chosen if self.selection else ()
        return [self._row(one) for one in every if one.entry.kind == kind]

    def _row(self, one: ChosenEntry) -> dict[str, Any]:
        entry, path = one.entry, f"{self.folder}/{one.entry.path}"
        text = entry.body.strip() if one.is_told else ""
        reason = "inlined" if text else one.left_out or f"{entry.kind}_reference_only"
        row = {
            "id": entry.id,
            "title": entry.title,
            "kind": entry.kind,
            "source_path": path,
            "selection_reasons": list(dict.fromkeys(code for code, _ in one.reasons)),
            "relevance_score": one.score,
            "priority": entry.priority or 0,
            "severity": entry.severity or "info",
            "reference_only": not text,
            "reference": {"source_path": path, "reason": reason},
        }
        return {**row, "inline_content": text} if text else row

    def skipped(self) -> list[dict[str, Any]]:
        """What is not told in full, and what is not even named."""
        if self.selection is None:
            return []
        short = [(one, one.left_out) for one in self.selection.chosen if one.left_out]
        rows = [*short, *((one, "too_many") for one in self.selection.dropped)]
        return [
            {
                "id": one.entry.id,
                "kind": one.entry.kind,
                "source_path": f"{self.folder}/{one.entry.path}",
                "reason": why,
            }
            for one, why in rows
        ]


def _status(guidance: TaskGuidance) -> tuple[str, str, list[dict[str, str]]]:
    """The status of the guidance, its summary, and the warnings."""
    found, selection = guidance.found, guidance.selection
    if not found.has_manifest:
        summary = "The project has no playbook, so there is no guidance."
        return "missing_playbook", summary, [_warning("missing_playbook", f"there is no `{OWN}/{MANIFEST}`")]
    wrong = playbook_error(found)
    if wrong is not None or selection is None:
        summary = "The playbook of the project is not valid, so there is no guidance."
        return "invalid_playbook", summary, [_warning("invalid_playbook", wrong or "it cannot be read", "error")]
    if selection.is_empty:
        return "empty_selection", "No practice of the playbook is for this task in this phase.", []
    return "available", "Follow these practices of the project.", []


def _warning(code: str, message: str, severity: str = "warning") -> dict[str, str]:
    return {"code": code, "message": message, "severity": severity}


def _markdown(found: dict[str, Any], guidance: TaskGuidance) -> str:
    parts = [f"# Project guidance: {found['phase']}", found["summary"], guidance.text]
    if found["warnings"]:
        parts.append("## Warnings\n\n" + "\n".join(f"- {warning['message']}" for warning in found["warnings"]))
    return "\n\n".join(filter(None, parts)) + "\n"
