"""`planning-questions-form`: makes a form from the questions of a planning agent, for a later `user-input`."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, Work
from handrail.source.values import as_text
from handrail.steps.nodes.people.form_steps import (
    DESCRIPTION,
    FORM_ID,
    TITLE,
    form_heading,
    object_list,
    path_field,
    read_object,
    stripped_text,
)

NODE = Node(
    about="Makes a form from a JSON file with `questions`. A file that does not exist has no questions.",
    params=(path_field("planningQuestionsJsonFile", "the file with the questions"), FORM_ID, TITLE, DESCRIPTION),
    others="ignored",
    outputs={
        "formId": "the form's id",
        "title": "its title",
        "description": "its description; empty if it has none",
        "submitLabel": "the text of the button that sends it",
        "fields": "its fields: one text for each question",
        "summary": "the `summary` of the file; empty if it has none",
        "questionCount": "how many questions there are",
    },
)


async def run(work: Work, context: NodeContext) -> Any:
    path = as_text(work.params["planningQuestionsJsonFile"])
    data = read_object(context, path) or {}
    fields: list[dict[str, Any]] = []
    for number, question in enumerate(object_list(data, "questions", path), 1):
        if stripped_text(question, "question"):
            fields.append(_field(question, number, {field["id"] for field in fields}))
    return {
        **form_heading(work.params),
        "submitLabel": "Send answers",
        "fields": fields,
        "summary": stripped_text(data, "summary"),
        "questionCount": len(fields),
    }


def _field(question: dict[str, Any], number: int, taken: set[str]) -> dict[str, Any]:
    """The field for a question. An id that is missing or used before is replaced."""
    id_ = stripped_text(question, "id")
    while not id_ or id_ in taken:
        id_, number = f"question_{number}", number + 1
    more = {"help": stripped_text(question, "details"), "placeholder": stripped_text(question, "placeholder")}
    return {
        "id": id_,
        "type": "text",
        "label": stripped_text(question, "question"),
        **{name: text for name, text in more.items() if text},
        "required": question.get("required") is not False,
        "multiline": question.get("multiline") is True,
        "default": "",
    }
