"""`planning-questions-form`: makes a form from the questions of a planning agent, for a later `user-input`."""

from __future__ import annotations

from typing import Any

from handrail.contracts import Node, NodeContext, Work
from handrail.nodes.forms.reading import DESCRIPTION, FORM_ID, TITLE, heading, items, path_field, read_object, word
from handrail.source.values import as_text

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
    for number, question in enumerate(items(data, "questions", path), 1):
        if word(question, "question"):
            fields.append(_field(question, number, {field["id"] for field in fields}))
    return {
        **heading(work.params),
        "submitLabel": "Send answers",
        "fields": fields,
        "summary": word(data, "summary"),
        "questionCount": len(fields),
    }


def _field(question: dict[str, Any], number: int, taken: set[str]) -> dict[str, Any]:
    """The field for a question. An id that is missing or used before is replaced."""
    id_ = word(question, "id")
    while not id_ or id_ in taken:
        id_, number = f"question_{number}", number + 1
    more = {"help": word(question, "details"), "placeholder": word(question, "placeholder")}
    return {
        "id": id_,
        "type": "text",
        "label": word(question, "question"),
        **{name: text for name, text in more.items() if text},
        "required": question.get("required") is not False,
        "multiline": question.get("multiline") is True,
        "default": "",
    }
