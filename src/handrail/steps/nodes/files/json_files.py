"""JSON files of the project, for all nodes: read with a named failure, checked against a schema, written whole."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import Any

from handrail.base.files import real_inside, sync_folder, why_outside
from handrail.driven.artifacts.project_files import ProjectFiles
from handrail.extensions.contracts import NodeContext, NodeError
from handrail.source.values import as_json, as_text, parse_float, shown
from handrail.steps.nodes.files.write_file import path_inside, put_file


def read_json(context: NodeContext, path: str, schema: str | None = None) -> Any:
    """The content of a JSON file that has to exist, and has to match the schema. Raises `NodeError`."""
    world = ProjectFiles(context.project, context.definitions, context.registry)
    text = world.text(path)
    if text is None:
        raise NodeError("inputs-missing", f"`{path}` is missing", transient=False)
    data = parse_json(text, path)
    wrong = None if schema is None else world.against_schema(path, schema)
    if wrong is not None:
        raise NodeError("inputs-invalid", wrong, transient=False)
    return data


def parse_json(text: str, path: str) -> Any:
    """The data of a JSON text. Numbers keep their texts. Raises `NodeError`."""
    try:
        return json.loads(text, parse_float=parse_float, parse_constant=_refuse_constant)
    except RecursionError:
        raise NodeError("inputs-invalid", f"`{path}` is nested too deeply", transient=False) from None
    except ValueError as error:
        raise NodeError("inputs-invalid", f"`{path}` is not JSON: {error}", transient=False) from error


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"`{name}` is not a number")


def summary_in(data: Any) -> str | None:
    """The member `summary` of an object. None if it is not text, or blank."""
    found = data.get("summary") if isinstance(data, dict) else None
    return found.strip() or None if isinstance(found, str) else None


def write_json(context: NodeContext, path: str, data: Any) -> None:
    put_file(path_inside(context, path), f"{as_json(data, is_indented=True)}\n", context)


def write_text(context: NodeContext, path: str, text: str) -> None:
    put_file(path_inside(context, path), text, context)


def remove_file(context: NodeContext, path: str) -> bool:
    """Remove a file of the project, or a link to one. Returns whether it was there."""
    folder = real_inside(context.project, os.path.dirname(path) or ".")
    if folder is None or os.path.basename(path) in ("", ".", ".."):
        raise NodeError("path-escape", f"`{path}` {why_outside(path)}", transient=False)
    try:
        os.unlink(os.path.join(folder, os.path.basename(path)))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise NodeError("file-kind", f"`{path}` cannot be removed: {error.strerror}", transient=False) from error
    sync_folder(folder)
    return True


def time_text(seconds: float | None = None) -> str:
    """A moment, by default this one, in UTC with milliseconds: `2026-01-31T12:00:00.000Z`."""
    moment = datetime.now(UTC) if seconds is None else datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def json_bytes(data: Any) -> bytes:
    """JSON with 2 spaces and a final line end. Half of a surrogate pair becomes a question mark."""
    return utf8_bytes(json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def utf8_bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def utc_time(given: Any, *, exact: bool = False) -> str:
    """A time in seconds, or exactly, in a form that can be compared as text. An empty text is before all times."""
    if given is None or not as_text(given).strip():
        return ""
    try:
        moment = datetime.fromisoformat(as_text(given).strip())
    except ValueError:
        message = f"`after` has to be a time such as 2026-01-31T12:00:00Z, found `{shown(given, 80)}`"
        raise NodeError("params", message, transient=False) from None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if exact else "%Y-%m-%dT%H:%M:%SZ")
