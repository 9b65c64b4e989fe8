"""`playbook-questions-form`: asks a person what an agent could not find out about a project, or to accept a draft.

A run in which nobody can be asked waits. Nothing is assumed.
"""

from __future__ import annotations

from typing import Any

from handrail.driven.forms import form_params
from handrail.driven.forms.form import accept
from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.source.fields import SCALARS, Field
from handrail.source.plain_text import counted
from handrail.source.values import Unresolved, as_text
from handrail.steps.nodes.files.json_files import read_json, time_text, write_json

ACCEPTED = "final_write_accepted"
MODES = ("clarifications", "acceptance")
NODE = Node(
    about="Asks a person the questions about a playbook, or to accept its draft, and writes the answers to a file.",
    params=(
        Field("questionsJsonFile", ("text",), "the questions", required=True, shortest=1, names="path"),
        Field("answersJsonFile", ("text",), "the file for the answers", required=True, shortest=1, names="path"),
        Field("formId", SCALARS, "the form's id, for answers in a file", required=True, shortest=1),
        Field("title", SCALARS, "the title of the form", required=True),
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
)


async def run(work: Work, context: NodeContext) -> Any:
    params, mode = work.params, work.params["mode"]
    source, target = params["questionsJsonFile"], params["answersJsonFile"]
    is_accepted = params.get("acceptDraft") is True
    questions = read_json(context, source, "playbook-questions/v1")["questions"]
    fields = [_field(question, number) for number, question in enumerate(questions, 1)]
    if mode == "acceptance":
        answers = _kept(context, target)
        if not is_accepted:
            is_accepted = (await _ask(work, context, [_acceptance()]))[ACCEPTED] is True
    else:
        given = await _ask(work, context, fields) if fields else {}
        answers = [{"question_id": field["id"], "answer": given[field["id"]]} for field in fields]
    told = counted(len(answers), "answer")
    summary = f"{told}; the playbook is {'' if is_accepted else 'not '}accepted"
    data = {"summary": summary, "answered_at": context.remember("answeredAt", time_text())}
    write_json(context, target, {**data, "answers": answers, ACCEPTED: is_accepted})
    return {
        "formId": as_text(params["formId"]),
        "questionCount": len(fields),
        "finalWriteAccepted": is_accepted,
        "outputFile": target,
    }


def _field(question: dict[str, Any], number: int) -> dict[str, Any]:
    id_ = question["id"].strip() or f"question_{number}"
    return {"id": id_, "type": "text", "label": question["text"], "help": question["rationale"], "multiline": True}


def _acceptance() -> dict[str, Any]:
    label = "Write the playbook as drafted?"
    return {"id": ACCEPTED, "type": "boolean", "label": label, "required": True, "default": False}


async def _ask(work: Work, context: NodeContext, fields: list[dict[str, Any]]) -> dict[str, Any]:
    given = {"formId": work.params["formId"], "title": work.params["title"], "fields": fields}
    try:
        form = form_params.form_from(given)
    except Unresolved as error:
        raise NodeError(error.code, error.message, transient=False) from error
    return accept(form, (await context.ask(form_params.to_json(form))).values)


def _kept(context: NodeContext, path: str) -> list[Any]:
    """The answers that a file has. Empty if there is no file."""
    try:
        answers: list[Any] = read_json(context, path, "playbook-answers/v1")["answers"]
    except NodeError as error:
        if error.code == "inputs-missing":
            return []
        raise
    return answers
