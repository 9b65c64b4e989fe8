"""Asks a person to fill in a form, for every node that does so, and writes the answers to a file."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from handrail.contracts import NodeContext, NodeError
from handrail.forms import form as forms
from handrail.forms import read as formspec
from handrail.forms.form import Form
from handrail.nodes.jsonfiles import time_text
from handrail.nodes.write_file import inside, put_file
from handrail.source.values import Unresolved, as_json, as_text

OUTPUTS = {
    "formId": "the form's id",
    "submittedAt": "when the person answered, in UTC",
    "values": "the answers: field id → value",
    "outputFile": "the file with the answers, if the step has `outputFile`",
}


def form_of(params: Mapping[str, Any]) -> Form:
    """The form that the params of a step describe."""
    try:
        return formspec.form_from(params)
    except Unresolved as error:
        raise NodeError(error.code, error.message, transient=False) from error


async def fill_in(form: Form, target: Any, context: NodeContext) -> dict[str, Any]:
    """The outputs of a step that asks a person. A form without fields is answered at once.

    The time of the answer is recorded with it, so a resumed run writes the same file again.
    """
    real = inside(context, as_text(target)) if target else None
    values: dict[str, Any] = {}
    at = 0.0
    if form.fields:
        given, at = await context.ask(formspec.to_json(form))
        values = forms.accept(form, given)
    submitted = time_text(at or float(context.remember("submittedAt", time.time())))
    answers = {"formId": form.id, "submittedAt": submitted, "values": values}
    if real is None:
        return answers
    text = as_json({"form_id": form.id, "submitted_at": submitted, "values": values}, is_indented=True)
    put_file(real, f"{text}\n", context)
    return {**answers, "outputFile": as_text(target)}
