"""`user-input`: asks a person to fill in a form and waits for the answer, however long it takes.

The answers are in its output `values`. With `outputFile` they are also written to a file, for later steps and agents.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from handrail.contracts import Node, NodeContext, NodeError, Work
from handrail.forms import form as forms
from handrail.forms import read as formspec
from handrail.nodes.write_file import inside, put_file
from handrail.source import given
from handrail.source.fields import SCALARS, Field, Reader
from handrail.source.values import Unresolved, as_text
from handrail.source.yamltree import Node as Located


def _check_fields(reader: Reader, node: Located) -> None:
    """Report the problems of the fields of a form, each with its position."""
    for problem in formspec.field_problems(given.plain(node)):
        place = given.at(node, problem.path)
        if len(problem.path) == 1 and place.kind != "mapping":
            continue  # already reported: an item of `fields` has to be a mapping
        if problem.key is not None and problem.key in place.keys:
            line, column = place.keys[problem.key]
            width = reader.key_width(problem.key, line, column)
            reader.at((line, column, width), "form-field", problem.message, problem.hint)
        else:
            reader.on(place, "form-field", problem.message, problem.hint)


def _members(params: Mapping[str, Any]) -> dict[str, Collection[str] | None]:
    """The outputs of a step. The members of `values` are the ids of its fields."""
    fields = params.get("fields")
    ids = [field.get("id") if isinstance(field, dict) else None for field in fields] if isinstance(fields, list) else []
    is_known = bool(ids) and all(isinstance(id_, str) and not isinstance(id_, given.Later) for id_ in ids)
    return {**dict.fromkeys(OUTPUTS), "values": [str(id_) for id_ in ids] if is_known else None}


OUTPUTS = {
    "formId": "the form's id",
    "values": "the answers: field id → value",
    "outputFile": "the file, if the step has `outputFile`",
}
NODE = Node(
    about="Asks a person to fill in a form, and waits for the answer.",
    params=(
        Field("formId", SCALARS, "the form's id, for answers in a file", required=True, shortest=1),
        Field("title", SCALARS, "the title of the form", required=True),
        Field("description", SCALARS, "a longer text below the title"),
        Field(
            "fields",
            ("list",),
            "the questions, each with `id`, `type`, `label`, `help`, `required`, `default`, `options`, `multiline`, "
            "`rows`, `placeholder`, `when`",
            required=True,
            shortest=1,
            items=("mapping",),
            check=_check_fields,
        ),
        Field("outputFile", ("text",), "a file for the answers, as JSON", shortest=1, names="path"),
    ),
    others="ignored",
    outputs=OUTPUTS,
    members=_members,
)


async def run(work: Work, context: NodeContext) -> Any:
    try:
        form = formspec.form_from(work.params)
    except Unresolved as error:
        raise NodeError(error.code, error.message, transient=False) from error
    values = await context.ask(formspec.to_json(form))
    answers = {"formId": form.id, "values": forms.accept(form, values)}
    target = work.params.get("outputFile")
    if not target:
        return answers
    real = inside(context, as_text(target))
    text = json.dumps({"form_id": form.id, "values": answers["values"]}, ensure_ascii=False, indent=2) + "\n"
    put_file(real, text, context)
    return {**answers, "outputFile": as_text(target)}
