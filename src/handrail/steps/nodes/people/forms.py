"""Nodes with forms: they ask a person, or make a form for a later `user-input`.

A form waits for its answer, however long it takes. A form without fields is answered at once. With `outputFile` the
answers are also written to a file. Every problem of a file that a form is made from names the file and the place in it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from handrail.driven.forms import form_params
from handrail.driven.forms.form import Form, accept, answers_summary, prompt_suffix, value_words, with_initial
from handrail.extensions.contracts import LastingError, Node, NodeContext, OneNode, Work
from handrail.source import field_checks
from handrail.source.fields import SCALARS, Field, MappingReader
from handrail.source.tree import TreeNode
from handrail.source.values import Unresolved, as_text, json_value
from handrail.steps.nodes.files import path_inside, read_text, time_text, write_json
from handrail.steps.nodes.params import path_param

SELECTED_FILES, COMMIT_MESSAGE, CONFIRM = "selected_files", "commit_message", "confirm"
NOT_CONFIRMED = "not-confirmed"
FORM_ID = Field("formId", SCALARS, "the form's id, for answers in a file; by default the id of the step", shortest=1)
TITLE = Field("title", SCALARS, "the title of the form", required=True)
HEADING = (FORM_ID, TITLE, Field("description", (*SCALARS, "null"), "a longer text below the title"))
STATUS_FILE = path_param("gitStatusJsonFile", "the `outputFile` of `git-status`")
ANSWERS_FILE = path_param("outputFile", "a file for the answers, as JSON")
ANSWERS_SCHEMA = {"outputFile": "user-input/v1"}
ANSWER_OUTPUTS = {
    "formId": "the form's id",
    "submittedAt": "when the person answered, in UTC",
    "values": "the answers: field id → value",
    "outputFile": "the file with the answers, if the step has `outputFile`",
}
FORM_OUTPUTS = {
    "formId": "the form's id",
    "title": "its title",
    "description": "its description; empty if it has none",
    "submitLabel": "the text of the button that sends it",
}


def form_of(params: Mapping[str, Any]) -> Form:
    try:
        return form_params.form_from(params)
    except Unresolved as error:
        raise LastingError(error.code, error.message) from error


async def _fill_in(form: Form, target: str | None, context: NodeContext) -> dict[str, Any]:
    """The outputs of a step that asks a person.

    The time of the answer is recorded with it, so a resumed run writes the same file again.
    """
    if target:
        path_inside(context, target)
    values: dict[str, Any] = {}
    at = 0.0
    if form.fields:
        answer, at = await context.ask(form_params.to_json(form))
        values = accept(form, answer)
    submitted = time_text(at or float(context.remember("submittedAt", time.time())))
    answers = {"formId": form.id, "submittedAt": submitted, "values": values}
    if not target:
        return answers
    write_json(context, target, {"form_id": form.id, "submitted_at": submitted, "values": values})
    return {**answers, "outputFile": target}


def _check_fields(reader: MappingReader, node: TreeNode) -> None:
    """Report the problems of the fields of a form, each with its position."""
    for problem in form_params.field_problems(field_checks.plain_data(node)):
        place = field_checks.node_at(node, problem.path)
        if len(problem.path) == 1 and place.kind != "mapping":
            continue  # already reported: an item of `fields` has to be a mapping
        if problem.key is not None and problem.key in place.keys:
            key = reader.source.key_place(problem.key, place.keys[problem.key])
            reader.at(key, "form-field", problem.message, problem.hint)
        else:
            reader.on(place, "form-field", problem.message, problem.hint)


def _user_input_members(params: Mapping[str, Any]) -> dict[str, Collection[str] | None]:
    """The outputs of a step. The members of `values` are the ids of its fields."""
    fields = params.get("fields")
    ids = [field.get("id") if isinstance(field, dict) else None for field in fields] if isinstance(fields, list) else []
    is_known = bool(ids) and all(isinstance(id_, str) and not isinstance(id_, field_checks.Later) for id_ in ids)
    return {**dict.fromkeys(_USER_INPUT_OUTPUTS), "values": [str(id_) for id_ in ids] if is_known else None}


_USER_INPUT_OUTPUTS = {
    **ANSWER_OUTPUTS,
    "promptSuffix": "a text about the answers, for the prompt of a later step",
    "summaryText": "the answers as text, for people",
}
_USER_INPUT = Node(
    about="Asks a person to fill in a form, and waits for the answer.",
    params=(
        *HEADING,
        Field(
            "fields",
            ("list",),
            "the questions, each with `id`, `type`, `label`, `help`, `required`, `default`, `options`, `multiline`, "
            "`rows`, `placeholder`, `when`",
            required=True,
            items=("mapping",),
            check=_check_fields,
        ),
        Field("outputFile", ("text", "null"), "a file for the answers, as JSON", shortest=1, names="path"),
        Field(
            "initialValues",
            ("mapping", "null"),
            "answers to begin with: field id → value; they take the place of `default` where they fit",
        ),
        Field("submitLabel", (*SCALARS, "null"), "the text of the button that sends the form"),
    ),
    others="ignored",
    outputs=_USER_INPUT_OUTPUTS,
    members=_user_input_members,
    makes=("outputFile",),
    schemas=ANSWERS_SCHEMA,
    asks=(),
)


async def _ask_user(work: Work, context: NodeContext) -> Any:
    form = with_initial(form_of(work.params), work.params.get("initialValues"))
    answers = await _fill_in(form, work.params.get("outputFile"), context)
    suffix = prompt_suffix(form, answers["values"], answers.get("outputFile"))
    return {**answers, "promptSuffix": suffix, "summaryText": answers_summary(form, answers["values"])}


def _members(*ids: str) -> Callable[[Mapping[str, Any]], dict[str, Collection[str] | None]]:
    """The outputs of a form that always has fields with these ids."""
    return lambda _: {**dict.fromkeys(ANSWER_OUTPUTS), "values": ids}


_SELECT_FILES = Node(
    about="Asks a person which of the files in a result of `git-status` are to be committed.",
    params=(STATUS_FILE, *HEADING, ANSWERS_FILE),
    others="ignored",
    outputs={**ANSWER_OUTPUTS, "values": "`selected_files`: the chosen files"},
    members=_members(SELECTED_FILES),
    makes=("outputFile",),
    schemas=ANSWERS_SCHEMA,
    asks=(SELECTED_FILES,),
)


async def _select_files(work: Work, context: NodeContext) -> Any:
    return await _ask_fields([_files_field(work, context)], work, context)


async def _ask_fields(fields: list[dict[str, Any]], work: Work, context: NodeContext) -> dict[str, Any]:
    return await _fill_in(form_of({**work.params, "fields": fields}), work.params["outputFile"], context)


_COMMIT_MESSAGE = Node(
    about="Shows the proposed message of a commit to a person, who may change it.",
    params=(
        path_param("commitMessageFile", "a JSON file with `subject`, or a text file with the message"),
        *HEADING,
        ANSWERS_FILE,
    ),
    others="ignored",
    outputs={**ANSWER_OUTPUTS, "values": "`commit_message`: the message"},
    members=_members(COMMIT_MESSAGE),
    makes=("outputFile",),
    schemas=ANSWERS_SCHEMA,
    asks=(COMMIT_MESSAGE,),
)


async def _ask_message(work: Work, context: NodeContext) -> Any:
    subject, _ = _proposed_message(work, context)
    return await _ask_fields([_message_field(subject)], work, context)


def _message_field(message: str, **more: Any) -> dict[str, Any]:
    field = {"id": COMMIT_MESSAGE, "type": "text", "label": "Commit message", **more}
    return {**field, "required": True, "default": message}


_GIT_COMMIT = Node(
    about="Asks a person for the files and the message of a commit. Fails if the person does not confirm it.",
    params=(
        STATUS_FILE,
        path_param("commitMessageFile", "a JSON file with `subject` and `body`, or a text file with the message"),
        *HEADING,
        ANSWERS_FILE,
    ),
    others="ignored",
    outputs={**ANSWER_OUTPUTS, "values": "`selected_files`, `commit_message` and `confirm`"},
    members=_members(SELECTED_FILES, COMMIT_MESSAGE, CONFIRM),
    asks=(SELECTED_FILES, COMMIT_MESSAGE, CONFIRM),
)


async def _confirm_commit(work: Work, context: NodeContext) -> Any:
    refused = LastingError(NOT_CONFIRMED, "a person did not confirm the commit")
    if context.failure is not None and context.failure[0] == NOT_CONFIRMED:
        raise refused  # the answer counts, also if the files are others when the run is resumed
    message = "\n\n".join(filter(None, _proposed_message(work, context)))
    fields = [
        _files_field(work, context),
        _message_field(message, multiline=True, rows=8),
        {"id": CONFIRM, "type": "boolean", "label": "Commit these files", "default": True},
    ]
    answers = await _ask_fields(fields, work, context)
    if not answers["values"][CONFIRM]:
        raise refused
    return answers


def _files_field(work: Work, context: NodeContext) -> dict[str, Any]:
    """The field to choose files from the result of `git-status`. At first, all are chosen but files named `.env`."""
    path = work.params[STATUS_FILE.name]
    options: dict[str, dict[str, str]] = {}
    for entry in _object_list(_read_object(context, path), "files", path):
        name, original = entry.get("file"), entry.get("originalFile")
        if isinstance(name, str) and name:
            label = f"{original} -> {name}" if isinstance(original, str) and original else name
            letters = entry.get("xy") if isinstance(entry.get("xy"), str) else ""
            options.setdefault(name, {"value": name, "label": f"{letters} {label}"})
    if not options:
        raise LastingError("no-changes", f"`{path}` has no changed files to choose from")
    return {
        "id": SELECTED_FILES,
        "type": "multi-select",
        "label": "Files to commit",
        "required": True,
        "options": list(options.values()),
        "default": [name for name in options if os.path.basename(name) != ".env"],
    }


def _proposed_message(work: Work, context: NodeContext) -> tuple[str, str]:
    """The subject and the body of a message. A file that is not JSON holds the message itself."""
    text = read_text(context, work.params["commitMessageFile"])
    data = json_value(text)
    return (_stripped(data, "subject"), _stripped(data, "body")) if isinstance(data, dict) else (text.strip(), "")


_PLANNING_QUESTIONS = Node(
    about="Makes a form from a JSON file with `questions`. A file that does not exist has no questions.",
    params=(path_param("planningQuestionsJsonFile", "the file with the questions"), *HEADING),
    others="ignored",
    outputs={
        **FORM_OUTPUTS,
        "fields": "its fields: one text for each question",
        "summary": "the `summary` of the file; empty if it has none",
        "questionCount": "how many questions there are",
    },
)


async def _make_questions_form(work: Work, context: NodeContext) -> Any:
    path = work.params["planningQuestionsJsonFile"]
    data = _read_object(context, path) if os.path.exists(path_inside(context, path)) else {}
    fields: list[dict[str, Any]] = []
    for number, question in enumerate(_object_list(data, "questions", path), 1):
        if _stripped(question, "question"):
            fields.append(_question_field(question, number, {field["id"] for field in fields}))
    return {
        **_form_outputs(work.params, "Send answers"),
        "fields": fields,
        "summary": _stripped(data, "summary"),
        "questionCount": len(fields),
    }


def _form_outputs(params: dict[str, Any], submit_label: str) -> dict[str, str]:
    values = {param.name: params.get(param.name) for param in HEADING}
    texts = {name: "" if value is None else as_text(value) for name, value in values.items()}
    return {**texts, "submitLabel": submit_label}


def _question_field(question: dict[str, Any], number: int, used_ids: set[str]) -> dict[str, Any]:
    """The field for a question. An id that is missing or used before is replaced."""
    id_ = _stripped(question, "id")
    while not id_ or id_ in used_ids:
        id_, number = f"question_{number}", number + 1
    more = {"help": _stripped(question, "details"), "placeholder": _stripped(question, "placeholder")}
    return {
        "id": id_,
        "type": "text",
        "label": _stripped(question, "question"),
        **{name: text for name, text in more.items() if text},
        "required": question.get("required") is not False,
        "multiline": question.get("multiline") is True,
        "default": "",
    }


_REVIEW_FINDINGS = Node(
    about="Makes a form to choose the findings of a review that are to be fixed. Resolved findings are left out.",
    params=(
        path_param("reviewFindingsJsonFile", "the JSON file with `findings`"),
        Field(
            "reviewAssessmentJsonFile",
            ("text", "null"),
            "a JSON file with `assessments` of these findings",
            names="path",
        ),
        *HEADING,
    ),
    others="ignored",
    outputs={
        **FORM_OUTPUTS,
        "fields": "its fields: `apply_all`, `selected_findings` (if there are findings) and `extra_notes`",
        "findingCount": "how many findings there are to choose from",
    },
)


async def _make_findings_form(work: Work, context: NodeContext) -> Any:
    path = work.params["reviewFindingsJsonFile"]
    findings = _object_list(_read_object(context, path), "findings", path)
    options = _finding_options(findings, _assessments(work.params.get("reviewAssessmentJsonFile"), context))
    outputs = _form_outputs(work.params, "Fix these findings")
    return {**outputs, "fields": _finding_fields(options), "findingCount": len(options)}


def _assessments(path: str | None, context: NodeContext) -> dict[str, str]:
    """What an assessment says about each finding, by the title of the finding. The first one counts."""
    texts: dict[str, str] = {}
    if path is None or not path.strip():
        return texts
    for item in _object_list(_read_object(context, path), "assessments", path):
        parts = {"Verdict": _stripped(item, "verdict"), "Rationale": _stripped(item, "rationale")}
        parts["Proposed fix"] = _stripped(item, "proposed_fix")
        if isinstance(item.get("fix_required"), bool):
            parts["Fix required"] = "yes" if item["fix_required"] else "no"
        text = "\n\n".join(f"{name}: {part}" for name, part in parts.items() if part)
        texts.setdefault(_stripped(item, "finding_title"), text)
    return texts


def _finding_options(findings: list[dict[str, Any]], assessments: dict[str, str]) -> list[dict[str, str]]:
    """An option for each open finding. Findings with the same title are one option."""
    options: dict[str, dict[str, str]] = {}
    for finding in findings:
        title = _stripped(finding, "title")
        if not title or _stripped(finding, "disposition").lower() == "resolved":
            continue
        if title in options:
            texts = (options[title]["description"], _stripped(finding, "description"))
        else:
            options[title] = {"value": title, "label": f"{title} | {_stripped(finding, 'severity') or '-'}"}
            texts = (_stripped(finding, "description"), assessments.get(title, ""))
        options[title]["description"] = "\n\n".join(text for text in texts if text)
    return list(options.values())


def _finding_fields(options: list[dict[str, str]]) -> list[dict[str, Any]]:
    choose = {
        "id": "selected_findings",
        "type": "multi-select",
        "label": "Findings to fix",
        "help": "They are not needed if all findings are to be fixed.",
        "options": options,
        "default": [],
    }
    return [
        {"id": "apply_all", "type": "boolean", "label": "Fix all findings", "default": not options},
        *([choose] if options else []),
        {"id": "extra_notes", "type": "text", "label": "Notes for the fix", "multiline": True, "default": ""},
    ]


def _read_object(context: NodeContext, path: str) -> dict[str, Any]:
    """The JSON object in a file that has to exist."""
    try:
        data = json.loads(read_text(context, path))
    except json.JSONDecodeError as error:
        message = f"`{path}` is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        raise LastingError("json-invalid", message) from error
    except (RecursionError, ValueError) as error:
        raise LastingError("json-invalid", f"`{path}` is not JSON that can be read: {error}") from error
    if not isinstance(data, dict):
        raise LastingError("json-invalid", f"`{path}` has to hold an object, found {value_words(data)}")
    return data


def _object_list(data: dict[str, Any], name: str, path: str) -> list[dict[str, Any]]:
    """The objects in a list of a file. A list that is missing is empty."""
    items = data.get(name)
    if items is None:
        return []
    if not isinstance(items, list):
        raise LastingError("json-invalid", f"`{name}` in `{path}` has to be a list, found {value_words(items)}")
    for number, item in enumerate(items, 1):
        if not isinstance(item, dict):
            message = f"item {number} of `{name}` in `{path}` has to be an object, found {value_words(item)}"
            raise LastingError("json-invalid", message)
    return items


def _stripped(data: dict[str, Any], name: str) -> str:
    """A text of an object without white space at both ends. Empty if it is missing or not a text."""
    value = data.get(name)
    return value.strip() if isinstance(value, str) else ""


USER_INPUT = OneNode(_USER_INPUT, _ask_user)
SELECT_FILES_FORM = OneNode(_SELECT_FILES, _select_files)
COMMIT_MESSAGE_FORM = OneNode(_COMMIT_MESSAGE, _ask_message)
GIT_COMMIT_FORM = OneNode(_GIT_COMMIT, _confirm_commit)
PLANNING_QUESTIONS_FORM = OneNode(_PLANNING_QUESTIONS, _make_questions_form)
REVIEW_FINDINGS_FORM = OneNode(_REVIEW_FINDINGS, _make_findings_form)
