"""Nodes for reviews and plans of AgentWeaver: what their files say, and what follows from it.

`review-verdict` writes its decision into the JSON file of the review. `ready-to-merge.md` of the task exists afterwards
if, and only if, no finding blocks. Running it again changes nothing.
"""

from __future__ import annotations

import os
from typing import Any

from handrail.driven.artifacts.agentweaver_params import PLANNING, QA, TaskArtifacts
from handrail.driven.artifacts.names import name_text
from handrail.driven.artifacts.project_files import ProjectFiles
from handrail.driven.forms.form import SEVERITIES_VARIABLE, blocking_severities, review_fix_suffix, severity_of
from handrail.extensions.contracts import LastingError, Node, NodeContext, OneNode, OutputVerdict, Work
from handrail.source.fields import Field
from handrail.source.values import Unresolved
from handrail.steps.nodes.files import read_json, remove_file, time_text, write_json, write_text
from handrail.steps.nodes.params import path_param, text_param

READY_FILE = "ready-to-merge-file"
READY = "# Ready to merge\n\nThe review has no blocking finding.\n\n## Summary\n\n{summary}\n"
SELECTION_FORM, SELECTION_MODE = "review-fix-selection", "auto-blocking-severities"
PLANS = {**PLANNING, **QA}
TASK_KEY = text_param("taskKey", "the key of the task, which is the name of its scope")
BLOCKING_SEVERITIES = Field(
    "blockingSeverities",
    ("list", "text", "null"),
    f"the severities that block; by default those in `{SEVERITIES_VARIABLE}`, else blocker, critical and high",
    items=("text",),
)


def _iteration_param(review: str) -> Field:
    return Field("iteration", ("integer", "null"), f"the iteration of {review}; by default the newest one", least=1)


def _task_artifacts(work: Work, context: NodeContext) -> TaskArtifacts:
    """The artifacts of the task. Raises `NodeError` if its key cannot be a folder."""
    try:
        return TaskArtifacts(ProjectFiles(context.project), name_text(work.params.get("taskKey"), "key"))
    except Unresolved as error:
        raise LastingError(error.code, error.message) from error


def _load_review(artifacts: TaskArtifacts, kind: str, work: Work, context: NodeContext) -> tuple[str, dict[str, Any]]:
    """The path and the content of a review. Raises `NodeError` if it is missing or does not match its schema."""
    path = artifacts.path(kind, work.params.get("iteration") or artifacts.newest(kind) or 1)
    return path, read_json(context, path, artifacts.table.kinds[kind].schema)


def _severities_that_block(work: Work, context: NodeContext) -> list[str]:
    try:
        return blocking_severities(work.params.get(BLOCKING_SEVERITIES.name), context.env)
    except Unresolved as error:
        raise LastingError(error.code, error.message) from error


def _blocking_titles(findings: list[dict[str, Any]], blocking: list[str]) -> list[str]:
    matches = [finding for finding in findings if severity_of(finding.get("severity")) in blocking]
    return [finding["title"] for finding in matches if str(finding.get("title") or "").strip()]


_REVIEW_VERDICT = Node(
    about="Decides from the findings of a review whether a change is ready to merge, and records the decision.",
    params=(TASK_KEY, _iteration_param("the review"), BLOCKING_SEVERITIES),
    others="ignored",
    outputs={
        "readyToMerge": "true if no finding blocks",
        "blockingSeverities": "the severities that block",
        "blockingFindingTitles": "the titles of the findings that block",
        "blockingFindingsCount": "how many block",
        "summary": "the summary of the review",
        "reviewJsonFile": "the JSON file of the review",
        "writtenFiles": "the files that are published: the review, and `ready-to-merge.md` if it is ready",
    },
    published="writtenFiles",
    verdict=OutputVerdict("readyToMerge", True, ("blockingFindingTitles",)),
)


async def _judge_review(work: Work, context: NodeContext) -> Any:
    artifacts, blocking = _task_artifacts(work, context), _severities_that_block(work, context)
    path, review = _load_review(artifacts, "review-json-file", work, context)
    ready_path, titles = artifacts.path(READY_FILE), _blocking_titles(review["findings"], blocking)
    is_ready = not titles
    if review["ready_to_merge"] is not is_ready:
        write_json(context, path, {**review, "ready_to_merge": is_ready})
    if is_ready:
        write_text(context, ready_path, READY.format(summary=review["summary"].strip()))
    else:
        remove_file(context, ready_path)
    return {
        "readyToMerge": is_ready,
        "blockingSeverities": blocking,
        "blockingFindingTitles": titles,
        "blockingFindingsCount": len(titles),
        "summary": review["summary"],
        "reviewJsonFile": path,
        "writtenFiles": [path, ready_path] if is_ready else [path],
    }


_DESIGN_REVIEW_VERDICT = Node(
    about="Says whether the review of a design allows the work to begin.",
    params=(TASK_KEY, _iteration_param("the design review")),
    others="ignored",
    outputs={
        "status": "`approved`, `approved_with_warnings` or `needs_revision`",
        "canProceed": "true if the design is approved, with or without warnings",
        "needsRevision": "true if the design has to be revised",
        "verdict": "the summary of the review",
    },
    verdict=OutputVerdict("canProceed", True, ("verdict",)),
)


async def _judge_design(work: Work, context: NodeContext) -> Any:
    _, review = _load_review(_task_artifacts(work, context), "design-review-json-file", work, context)
    status = review["status"]
    is_refused = status == "needs_revision"
    return {"status": status, "canProceed": not is_refused, "needsRevision": is_refused, "verdict": review["summary"]}


_CLEAR_READY = Node(
    about="Removes the file `ready-to-merge.md` of a task.",
    params=(TASK_KEY,),
    others="ignored",
    outputs={"cleared": "true if the file was there"},
)


async def _clear_ready(work: Work, context: NodeContext) -> Any:
    """If it is interrupted after it removed the file, it still says so."""
    path = _task_artifacts(work, context).path(READY_FILE)
    was_there = context.remember("wasThere", os.path.lexists(path)) is True
    return {"cleared": remove_file(context, path) or was_there}


_PLANNING_BUNDLE = Node(
    about="Finds the newest design, plan and QA plan of a task. An incomplete one is a failure, not passed over.",
    params=(TASK_KEY,),
    others="ignored",
    outputs={
        "planningIteration": "their iteration",
        "designFile": "the design, as Markdown",
        "designJsonFile": "the design, as JSON",
        "planFile": "the plan, as Markdown",
        "planJsonFile": "the plan, as JSON",
        "qaFile": "the QA plan, as Markdown",
        "qaJsonFile": "the QA plan, as JSON",
    },
)


async def _find_plans(work: Work, context: NodeContext) -> Any:
    artifacts = _task_artifacts(work, context)
    iteration = artifacts.newest(*PLANS.values())
    if iteration is None:
        message = f"the task `{artifacts.key}` has no design and no plan; `handrail run plan` makes them"
        raise LastingError("inputs-missing", message)
    paths = artifacts.valid_bundle(PLANS, iteration, f"the plan of iteration {iteration} is not complete")
    return {"planningIteration": iteration, **paths}


_WRITE_SELECTION = Node(
    about="Selects the blocking findings of a review for a fix, and writes the selection to a file.",
    params=(
        path_param("outputFile", "the file for the selection, as JSON"),
        path_param("reviewFindingsJsonFile", "the findings of the review"),
        Field("selectionMode", ("text",), "how findings are selected", required=True, choices=(SELECTION_MODE,)),
        BLOCKING_SEVERITIES,
    ),
    others="ignored",
    outputs={
        "outputFile": "the file",
        "findingsCount": "how many findings are selected",
        "selectedFindings": "their titles",
        "applyAll": "false: a selection never means all findings",
    },
    makes=("outputFile",),
    schemas={"outputFile": "user-input/v1"},
)


async def _write_selection(work: Work, context: NodeContext) -> Any:
    """The file says the same as if a person had selected the findings in a form."""
    target, source = work.params["outputFile"], work.params["reviewFindingsJsonFile"]
    findings = read_json(context, source, "review-findings/v1")["findings"]
    is_open = [str(finding.get("disposition", "")).strip().lower() != "resolved" for finding in findings]
    wanted = [finding for finding, counts in zip(findings, is_open, strict=True) if counts]
    titles = _blocking_titles(wanted, _severities_that_block(work, context))
    values = {"apply_all": False, "selected_findings": titles, "extra_notes": ""}
    submitted = context.remember("submittedAt", time_text())
    write_json(context, target, {"form_id": SELECTION_FORM, "submitted_at": submitted, "values": values})
    return {"outputFile": target, "findingsCount": len(titles), "selectedFindings": titles, "applyAll": False}


_FIX_PROMPT = Node(
    about="Makes the text that tells an agent which findings of a review to fix, from the file with the selection.",
    params=(
        path_param("selectionFile", "the selection, from `write-selection-file` or a form"),
        Field("autoMode", ("boolean",), "true if no person selected the findings", required=True),
    ),
    others="ignored",
    outputs={
        "promptSuffix": "the text for the agent",
        "selectionMode": "`auto` or `interactive`",
        "applyAll": "true if all findings are to be fixed",
        "selectedFindings": "the titles of the selected findings",
        "isEmpty": "true if no finding is selected and nothing is noted",
    },
)


async def _build_fix_prompt(work: Work, context: NodeContext) -> Any:
    path = work.params["selectionFile"]
    values = read_json(context, path, "user-input/v1")["values"]
    titles = values.get("selected_findings") or []
    if not isinstance(titles, list) or any(not isinstance(title, str) for title in titles):
        raise LastingError("inputs-invalid", f"`{path}`: `selected_findings` has to be a list of titles")
    is_all = values.get("apply_all") is True
    return {
        "promptSuffix": review_fix_suffix(values, path),
        "selectionMode": "auto" if work.params["autoMode"] else "interactive",
        "applyAll": is_all,
        "selectedFindings": titles,
        "isEmpty": not (is_all or titles or str(values.get("extra_notes") or "").strip()),
    }


REVIEW_VERDICT = OneNode(_REVIEW_VERDICT, _judge_review)
DESIGN_REVIEW_VERDICT = OneNode(_DESIGN_REVIEW_VERDICT, _judge_design)
CLEAR_READY_TO_MERGE = OneNode(_CLEAR_READY, _clear_ready)
PLANNING_BUNDLE = OneNode(_PLANNING_BUNDLE, _find_plans)
WRITE_SELECTION_FILE = OneNode(_WRITE_SELECTION, _write_selection)
BUILD_REVIEW_FIX_PROMPT = OneNode(_FIX_PROMPT, _build_fix_prompt)
