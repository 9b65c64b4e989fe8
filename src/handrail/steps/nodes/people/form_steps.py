"""What nodes with forms share: reads the files that forms are made from, asks a person, writes the answers.

Every problem of a file names the file and the place in it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from typing import Any

from handrail.base.files import Unreadable, read_limited
from handrail.driven.forms import form_params
from handrail.driven.forms.form import Form, accept, found
from handrail.extensions.contracts import NodeContext, NodeError
from handrail.source.fields import SCALARS, Field
from handrail.source.values import Unresolved, as_json, as_text
from handrail.steps.nodes.files.json_files import time_text
from handrail.steps.nodes.files.write_file import path_inside, put_file

MAX_BYTES = 16 * 1024 * 1024
FORM_ID = Field("formId", SCALARS, "the form's id, for answers in a file", required=True, shortest=1)
TITLE = Field("title", SCALARS, "the title of the form", required=True)
DESCRIPTION = Field("description", (*SCALARS, "null"), "a longer text below the title")


def path_field(name: str, about: str, *, is_required: bool = True) -> Field:
    """The declaration of a param that holds the path of a file in the project."""
    if is_required:
        return Field(name, ("text",), about, required=True, shortest=1, names="path")
    return Field(name, ("text", "null"), about, names="path")


def read_text(context: NodeContext, path: str) -> str | None:
    """The text of a file in the project; None if the file does not exist."""
    try:
        return read_limited(path_inside(context, path), MAX_BYTES).decode("utf-8-sig")
    except Unreadable as error:
        if error.is_missing:
            return None
        raise NodeError("file-unreadable", f"`{path}` {error.message}", transient=False) from error
    except UnicodeDecodeError as error:
        message = f"`{path}` is not UTF-8 text: {error.reason} at byte {error.start}"
        raise NodeError("file-unreadable", message, transient=False) from error


def read_object(context: NodeContext, path: str) -> dict[str, Any] | None:
    """The JSON object in a file of the project; None if the file does not exist."""
    text = read_text(context, path)
    if text is None:
        return None
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"`{path}` is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        raise NodeError("json-invalid", message, transient=False) from error
    except (RecursionError, ValueError) as error:
        raise NodeError("json-invalid", f"`{path}` is not JSON that can be read: {error}", transient=False) from error
    if not isinstance(data, dict):
        raise NodeError("json-invalid", f"`{path}` has to hold an object, found {found(data)}", transient=False)
    return data


def required_object(data: dict[str, Any] | None, path: str) -> dict[str, Any]:
    """The object of a file that has to exist."""
    if data is None:
        raise NodeError("file-unreadable", f"`{path}` does not exist", transient=False)
    return data


def object_list(data: dict[str, Any], name: str, path: str) -> list[dict[str, Any]]:
    """The objects in a list of a file. A list that is missing is empty."""
    given = data.get(name)
    if given is None:
        return []
    if not isinstance(given, list):
        message = f"`{name}` in `{path}` has to be a list, found {found(given)}"
        raise NodeError("json-invalid", message, transient=False)
    for number, item in enumerate(given, 1):
        if not isinstance(item, dict):
            message = f"item {number} of `{name}` in `{path}` has to be an object, found {found(item)}"
            raise NodeError("json-invalid", message, transient=False)
    return given


def stripped_text(data: dict[str, Any], name: str) -> str:
    """A text of an object without white space at both ends. Empty if it is missing or not a text."""
    value = data.get(name)
    return value.strip() if isinstance(value, str) else ""


def form_heading(params: dict[str, Any]) -> dict[str, str]:
    """The id, the title and the description of a form, as the params of a step give them."""
    given = {name: params.get(name) for name in ("formId", "title", "description")}
    return {name: "" if value is None else as_text(value) for name, value in given.items()}


FILES_FIELD_ID = "selected_files"
MESSAGE_FIELD_ID = "commit_message"


def files_field(context: NodeContext, path: str) -> dict[str, Any]:
    """The field to choose files from the result of `git-status`. At first, all are chosen but files named `.env`."""
    options: dict[str, dict[str, str]] = {}
    for entry in object_list(required_object(read_object(context, path), path), "files", path):
        name, original = entry.get("file"), entry.get("originalFile")
        if isinstance(name, str) and name:
            shown = f"{original} -> {name}" if isinstance(original, str) and original else name
            letters = entry.get("xy") if isinstance(entry.get("xy"), str) else ""
            options.setdefault(name, {"value": name, "label": f"{letters} {shown}"})
    if not options:
        raise NodeError("no-changes", f"`{path}` has no changed files to choose from", transient=False)
    return {
        "id": FILES_FIELD_ID,
        "type": "multi-select",
        "label": "Files to commit",
        "required": True,
        "options": list(options.values()),
        "default": [name for name in options if os.path.basename(name) != ".env"],
    }


def proposed_message(context: NodeContext, path: str) -> tuple[str, str]:
    """The subject and the body of the message in a file. A file that is not JSON holds the message itself."""
    text = read_text(context, path)
    if text is None:
        raise NodeError("file-unreadable", f"`{path}` does not exist", transient=False)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return text.strip(), ""
    return (
        (stripped_text(data, "subject"), stripped_text(data, "body")) if isinstance(data, dict) else (text.strip(), "")
    )


ANSWER_OUTPUTS = {
    "formId": "the form's id",
    "submittedAt": "when the person answered, in UTC",
    "values": "the answers: field id → value",
    "outputFile": "the file with the answers, if the step has `outputFile`",
}


def form_of(params: Mapping[str, Any]) -> Form:
    """The form that the params of a step describe."""
    try:
        return form_params.form_from(params)
    except Unresolved as error:
        raise NodeError(error.code, error.message, transient=False) from error


async def fill_in(form: Form, target: Any, context: NodeContext) -> dict[str, Any]:
    """The outputs of a step that asks a person. A form without fields is answered at once.

    The time of the answer is recorded with it, so a resumed run writes the same file again.
    """
    real = path_inside(context, as_text(target)) if target else None
    values: dict[str, Any] = {}
    at = 0.0
    if form.fields:
        given, at = await context.ask(form_params.to_json(form))
        values = accept(form, given)
    submitted = time_text(at or float(context.remember("submittedAt", time.time())))
    answers = {"formId": form.id, "submittedAt": submitted, "values": values}
    if real is None:
        return answers
    text = as_json({"form_id": form.id, "submitted_at": submitted, "values": values}, is_indented=True)
    put_file(real, f"{text}\n", context)
    return {**answers, "outputFile": as_text(target)}
