"""Reads the JSON files from which forms are made. Every problem names the file and the place."""

from __future__ import annotations

import json
from typing import Any

from handrail.contracts import NodeContext, NodeError
from handrail.forms.form import found
from handrail.nodes.write_file import inside
from handrail.source.fields import SCALARS, Field
from handrail.source.values import as_text
from handrail.state.regular import Unreadable, read_regular

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
        return read_regular(inside(context, path), MAX_BYTES).decode("utf-8-sig")
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


def needed(data: dict[str, Any] | None, path: str) -> dict[str, Any]:
    """The object of a file that has to exist."""
    if data is None:
        raise NodeError("file-unreadable", f"`{path}` does not exist", transient=False)
    return data


def items(data: dict[str, Any], name: str, path: str) -> list[dict[str, Any]]:
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


def word(data: dict[str, Any], name: str) -> str:
    """A text of an object without white space at both ends. Empty if it is missing or not a text."""
    value = data.get(name)
    return value.strip() if isinstance(value, str) else ""


def heading(params: dict[str, Any]) -> dict[str, str]:
    """The id, the title and the description of a form, as the params of a step give them."""
    given = {name: params.get(name) for name in ("formId", "title", "description")}
    return {name: "" if value is None else as_text(value) for name, value in given.items()}
