"""Nodes for the playbook of a project: the practices that its agents follow, and how it gets a playbook.

`playbook-ensure` and `playbook-write` have results of the same format, `playbook-write-result/v1`.
"""

from __future__ import annotations

import os
from typing import Any

from handrail.driven.artifacts.project_files import ProjectFiles
from handrail.driven.forms import form_params
from handrail.driven.forms.form import accept
from handrail.extensions.contracts import LastingError, Node, NodeContext, NodeError, OneNode, Work
from handrail.source.diagnostics import as_line
from handrail.source.fields import Field
from handrail.source.plain_text import counted
from handrail.source.values import as_text
from handrail.steps.nodes.files import read_json, time_text, write_json, write_text
from handrail.steps.nodes.params import path_param, unused_param
from handrail.steps.nodes.people.forms import FORM_ID, TITLE, form_of
from handrail.steps.playbook.draft import languages_and_frameworks, playbook_files, wrong_evidence
from handrail.steps.playbook.guidance import THRESHOLD, ChosenEntry, Selection, TaskGuidance, guide
from handrail.steps.playbook.load import FoundPlaybook, read_playbook
from handrail.steps.playbook.spec import BUDGETS, MANIFEST, OWN, PAGE, phase_key
from handrail.steps.playbook.survey import ProjectTree, facts_of


def _playbook_error(playbook: FoundPlaybook) -> str | None:
    """What is wrong with a playbook: its first error, located. None if it is valid, or if there is none."""
    if not playbook.has_manifest or playbook.playbook is not None:
        return None
    error = next(problem for problem in playbook.problems if problem.severity == "error")
    return as_line(error._replace(file=os.path.relpath(error.file, playbook.project)))


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
_GUIDANCE = Node(
    about="Writes which practices of the project's playbook the agents of a phase have to follow.",
    params=(
        path_param("taskContextJsonFile", "the task, as JSON"),
        Field("phase", ("text",), "the phase: `plan`, `design-review`, `implement`, `review` or `repair/review-fix`",
              required=True, choices=tuple(PHASES)),
        path_param("outputJsonFile", "the file for it, as JSON"),
        path_param("outputFile", "the file for it, as Markdown"),
        unused_param("markdownLanguage", ("text", "null")),
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
    schemas={"outputJsonFile": "project-guidance/v1"},
)  # fmt: skip


async def _write_guidance(work: Work, context: NodeContext) -> Any:
    """Phases of guided workflows get the same practices: `steps.playbook` chooses them."""
    params = work.params
    source, json_path, path = (params[name] for name in ("taskContextJsonFile", "outputJsonFile", "outputFile"))
    phase, policy = PHASES[params["phase"]], params.get("invalidPlaybookPolicy") or POLICIES[0]
    limit, threshold = params.get("budgetLimit"), params.get("inlineThreshold")
    threshold = THRESHOLD if threshold is None else threshold
    guidance = guide(context.project, phase, read_json(context, source), limits=(limit, threshold))
    error = _playbook_error(guidance.source)
    if error is not None and policy == POLICIES[0]:
        raise LastingError("playbook", f"the playbook of the project is not valid: {error}")
    data = _document(guidance, phase, limit, threshold)
    write_json(context, json_path, data)
    write_text(context, path, _guidance_markdown(data, guidance))
    return {"status": data["status"], "phase": phase, "outputJsonFile": json_path, "outputFile": path}


def _document(guidance: TaskGuidance, phase: str, limit: int | None, threshold: int) -> dict[str, Any]:
    """The guidance as the schema `project-guidance/v1` has it."""
    source, selection = guidance.source, guidance.selection
    status, summary, warnings = _status(guidance)
    budget = limit if limit is not None else BUDGETS[phase_key(phase)]
    limit, used = (budget, 0) if selection is None else (selection.limit, selection.used)
    folder = source.folder or OWN
    about: dict[str, Any] = {
        "root_dir": os.path.join(source.project, folder),
        "manifest_path": os.path.join(source.project, folder, MANIFEST),
        "exists": source.has_manifest,
        "valid": source.playbook is not None,
    }
    error = _playbook_error(source)
    chosen = selection.chosen if selection else ()
    return {
        "summary": summary,
        "status": status,
        "phase": phase,
        "source_playbook": about if error is None else {**about, "error": error},
        "task_signals": guidance.signals.to_json(),
        "selected_practices": [_entry_row(one, folder) for one in chosen if one.entry.kind == "practice"],
        "selected_examples": [_entry_row(one, folder) for one in chosen if one.entry.kind == "example"],
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
        "skipped_items": _skipped_rows(selection, folder),
        "warnings": warnings,
    }


def _entry_row(one: ChosenEntry, folder: str) -> dict[str, Any]:
    entry, path = one.entry, f"{folder}/{one.entry.path}"
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


def _skipped_rows(selection: Selection | None, folder: str) -> list[dict[str, Any]]:
    """What is not told in full, and what is not even named."""
    if selection is None:
        return []
    rows = [(one, one.left_out) for one in selection.chosen if one.left_out]
    rows += [(one, "too_many") for one in selection.dropped]
    return [
        {"id": one.entry.id, "kind": one.entry.kind, "source_path": f"{folder}/{one.entry.path}", "reason": reason}
        for one, reason in rows
    ]


def _status(guidance: TaskGuidance) -> tuple[str, str, list[dict[str, str]]]:
    """The status of the guidance, its summary, and the warnings."""
    source, selection = guidance.source, guidance.selection
    if not source.has_manifest:
        summary = "The project has no playbook, so there is no guidance."
        return "missing_playbook", summary, [_warning("missing_playbook", f"there is no `{OWN}/{MANIFEST}`")]
    error = _playbook_error(source)
    if error is not None or selection is None:
        summary = "The playbook of the project is not valid, so there is no guidance."
        return "invalid_playbook", summary, [_warning("invalid_playbook", error or "it cannot be read", "error")]
    if selection.is_empty:
        return "empty_selection", "No practice of the playbook is for this task in this phase.", []
    return "available", "Follow these practices of the project.", []


def _warning(code: str, message: str, severity: str = "warning") -> dict[str, str]:
    return {"code": code, "message": message, "severity": severity}


def _guidance_markdown(data: dict[str, Any], guidance: TaskGuidance) -> str:
    parts = [f"# Project guidance: {data['phase']}", data["summary"], guidance.text]
    if data["warnings"]:
        parts.append("## Warnings\n\n" + "\n".join(f"- {warning['message']}" for warning in data["warnings"]))
    return "\n\n".join(filter(None, parts)) + "\n"


ACCEPTED = "final_write_accepted"
MODES = ("clarifications", "acceptance")
_QUESTIONS = Node(
    about="Asks a person the questions about a playbook, or to accept its draft, and writes the answers to a file.",
    params=(
        path_param("questionsJsonFile", "the questions"),
        path_param("answersJsonFile", "the file for the answers"),
        FORM_ID,
        TITLE,
        Field("mode", ("text",), "what is asked", default=MODES[0], choices=MODES),
        Field("acceptDraft", ("boolean", "null"), "true if the draft is accepted without asking"),
    ),
    others="ignored",
    outputs={
        "formId": "the form's id",
        "questionCount": "how many questions there are",
        "finalWriteAccepted": "true if the playbook may be written",
        "outputFile": "the file with the answers",
    },
    makes=("answersJsonFile",),
    schemas={"answersJsonFile": "playbook-answers/v1"},
    asks=(),
)


async def _ask_questions(work: Work, context: NodeContext) -> Any:
    """A run in which nobody can be asked waits. Nothing is assumed."""
    source, target = work.params["questionsJsonFile"], work.params["answersJsonFile"]
    is_accepted = work.params.get("acceptDraft") is True
    questions = read_json(context, source, "playbook-questions/v1")["questions"]
    fields = [_question_field(question, number) for number, question in enumerate(questions, 1)]
    if work.params["mode"] == "acceptance":
        answers = _earlier_answers(context, target)
        if not is_accepted:
            label = "Write the playbook as drafted?"
            field = {"id": ACCEPTED, "type": "boolean", "label": label, "required": True, "default": False}
            is_accepted = (await _ask(work, context, [field]))[ACCEPTED] is True
    else:
        values = await _ask(work, context, fields) if fields else {}
        answers = [{"question_id": field["id"], "answer": values[field["id"]]} for field in fields]
    summary = f"{counted(len(answers), 'answer')}; the playbook is {'' if is_accepted else 'not '}accepted"
    data = {"summary": summary, "answered_at": context.remember("answeredAt", time_text())}
    write_json(context, target, {**data, "answers": answers, ACCEPTED: is_accepted})
    return {
        "formId": as_text(work.params["formId"]),
        "questionCount": len(fields),
        "finalWriteAccepted": is_accepted,
        "outputFile": target,
    }


def _question_field(question: dict[str, Any], number: int) -> dict[str, Any]:
    id_ = question["id"].strip() or f"question_{number}"
    return {"id": id_, "type": "text", "label": question["text"], "help": question["rationale"], "multiline": True}


async def _ask(work: Work, context: NodeContext, fields: list[dict[str, Any]]) -> dict[str, Any]:
    form = form_of({"formId": work.params["formId"], "title": work.params["title"], "fields": fields})
    return accept(form, (await context.ask(form_params.to_json(form))).values)


def _earlier_answers(context: NodeContext, path: str) -> list[Any]:
    """The answers that a file has. Empty if there is no file."""
    try:
        answers: list[Any] = read_json(context, path, "playbook-answers/v1")["answers"]
    except NodeError as error:
        if error.code == "inputs-missing":
            return []
        raise
    return answers


RESULT_FILE = path_param("writeResultJsonFile", "the file for the result")
RESULT_OUTPUTS = {
    "status": "what became of it, such as `written`, `skipped_valid_existing`, `blocked` or `missing_playbook`",
    "message": "the status in words",
    "written_files": "the files that were written",
    "skipped_files": "the files that were there and stay as they are",
    "existing_playbook_path": "the manifest that was there; empty if there was none",
    "intended_files": "the files that a playbook has",
    "blocked_paths": "the files that prevent the playbook from being written",
}


def _result(status: str, message: str, intended: list[str], **more: list[str] | str) -> dict[str, Any]:
    """A result. `more` are the members that are not empty."""
    return {
        "status": status,
        "message": message,
        "written_files": [],
        "skipped_files": [],
        "existing_playbook_path": "",
        "intended_files": intended,
        "blocked_paths": [],
        **more,
    }


def _manifest_path(playbook: FoundPlaybook) -> str:
    folder = playbook.folder if playbook.folder and playbook.has_manifest else OWN
    return os.path.join(playbook.project, folder, MANIFEST)


_ENSURE = Node(
    about="Says whether the project has a playbook, and whether a flow may make one.",
    params=(
        RESULT_FILE,
        Field("acceptPlaybookDraft", ("boolean", "null"), "true if a flow may make a playbook without asking"),
        Field("verifyAfterInit", ("boolean", "null"), "true after a flow has tried to make one"),
    ),
    others="ignored",
    outputs={
        **RESULT_OUTPUTS,
        "shouldRunPlaybookInit": "true if a playbook has to be made first",
        "manifestPath": "the manifest of the playbook",
    },
    makes=(RESULT_FILE.name,),
    schemas={RESULT_FILE.name: "playbook-write-result/v1"},
)


async def _ensure(work: Work, context: NodeContext) -> Any:
    target, playbook = work.params[RESULT_FILE.name], read_playbook(context.project)
    manifest = _manifest_path(playbook)
    files, existing = [manifest], manifest if playbook.has_manifest else ""
    if playbook.playbook is not None:
        message = "the project has a valid playbook"
        result = _result("skipped_valid_existing", message, files, existing_playbook_path=existing, skipped_files=files)
    elif (error := _playbook_error(playbook)) is not None:
        result = _result("invalid_manifest", error, files, existing_playbook_path=existing, blocked_paths=files)
    elif work.params.get("verifyAfterInit") is True and _was_dry(context, target):
        result = _result("dry_run_written", "a dry run would have written a playbook", files)
    elif work.params.get("acceptPlaybookDraft") is True:
        result = _result("missing_playbook", "the project has no playbook; it can be made", files)
    else:
        message = "the project has no playbook, and this run may not make one; run `handrail playbook init`"
        result = _result("blocked", message, files, blocked_paths=files)
    write_json(context, target, result)
    return {**result, "shouldRunPlaybookInit": result["status"] == "missing_playbook", "manifestPath": manifest}


def _was_dry(context: NodeContext, path: str) -> bool:
    try:
        before = read_json(context, path)
    except NodeError:
        return False
    return isinstance(before, dict) and before.get("status") == "dry_run_written"


_WRITE = Node(
    about="Writes the playbook of a project from an accepted draft. It never changes a file that is there.",
    params=(
        path_param("draftJsonFile", "the draft"),
        path_param("answersJsonFile", "the answers, with the acceptance"),
        RESULT_FILE,
    ),
    others="ignored",
    outputs={
        **RESULT_OUTPUTS,
        "finalJsonFile": "the manifest",
        "finalMarkdownFile": "the page about the project",
        "finalManifestFile": "the manifest",
    },
    makes=(RESULT_FILE.name,),
    schemas={RESULT_FILE.name: "playbook-write-result/v1"},
)


async def _write(work: Work, context: NodeContext) -> Any:
    draft, answers, target = (work.params[name] for name in ("draftJsonFile", "answersJsonFile", RESULT_FILE.name))
    manifest = _manifest_path(read_playbook(context.project))
    if read_json(context, answers, "playbook-answers/v1")[ACCEPTED]:
        result = _write_files(context, read_json(context, draft, "playbook-draft/v1"), manifest)
    else:
        result = _result("not_accepted", "the draft was not accepted, so nothing was written", [manifest])
    write_json(context, target, result)
    page = os.path.join(os.path.dirname(manifest), PAGE)
    return {**result, "finalJsonFile": manifest, "finalMarkdownFile": page, "finalManifestFile": manifest}


def _write_files(context: NodeContext, draft: dict[str, Any], manifest: str) -> dict[str, Any]:
    """Write the files of a playbook, and say what became of them.

    The manifest is written last, so a playbook with a manifest is complete. If the node was interrupted before, the
    files with the right content are its own.
    """
    project = context.project
    if problems := wrong_evidence(project, draft["accepted_rules"]):
        raise LastingError("evidence", "; ".join(problems[:5]))
    about = languages_and_frameworks(facts_of(ProjectTree(project)))
    texts, files = playbook_files(draft, os.path.basename(project), about), ProjectFiles(project)
    before = {path: files.text(path) for path in texts}
    intended = [os.path.join(project, path) for path in texts]
    others = [os.path.join(project, path) for path, text in before.items() if text not in (None, texts[path])]
    playbook = read_playbook(project)
    error = _playbook_error(playbook)
    if playbook.playbook is not None and (others or not all(before.values())):
        message, more = "the project has a valid playbook, which stays as it is", {"skipped_files": [manifest]}
        return _result("skipped_valid_existing", message, intended, existing_playbook_path=manifest, **more)
    if others or error is not None:
        message = error or "the folder of the playbook has other files with these names"
        existing, blocked = manifest if playbook.has_manifest else "", others or [manifest]
        return _result("blocked", message, intended, existing_playbook_path=existing, blocked_paths=blocked)
    for path, text in texts.items():
        if before[path] is None:
            write_text(context, path, text)
    error = _playbook_error(read_playbook(project))
    if error is not None:
        raise LastingError("playbook", f"the written playbook cannot be used: {error}")
    return _result("written", "the playbook was written", intended, written_files=intended)


PROJECT_GUIDANCE = OneNode(_GUIDANCE, _write_guidance)
QUESTIONS_FORM = OneNode(_QUESTIONS, _ask_questions)
ENSURE = OneNode(_ENSURE, _ensure)
WRITE = OneNode(_WRITE, _write)
