"""Files of the project: the nodes that check, read and write them, and what other nodes read and write files with.

`structured-summary`, `summary-file-load` and `ensure-summary-json` are about summaries in files.
"""

from __future__ import annotations

import json
import os
import re
import stat
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from handrail.base.files import Unreadable, other_kind, read_limited, real_inside, sync_folder, why_outside, write_whole
from handrail.driven.artifacts.project_files import ProjectFiles
from handrail.extensions.contracts import LastingError, Node, NodeContext, NodeError, OneNode, Work
from handrail.extensions.contracts.node import LITTER
from handrail.settings.secrets import Secrets
from handrail.source.fields import SCALARS, Field
from handrail.source.values import as_json, as_text, json_value, parse_float
from handrail.steps.nodes.params import path_param, unused_param

MAX_BYTES = 16 * 1024 * 1024


def path_inside(context: NodeContext, path: str) -> str:
    real = real_inside(context.project, path)
    if real is None or real == context.project:
        raise LastingError("path-escape", f"`{path}` {why_outside(path)}")
    return real


def read_bytes(context: NodeContext, path: str) -> bytes:
    """The content of a file that has to exist. Raises `NodeError`."""
    try:
        return read_limited(path_inside(context, path), MAX_BYTES)
    except Unreadable as error:
        raise LastingError("file-unreadable", f"`{path}` {error.message}") from error


def read_text(context: NodeContext, path: str) -> str:
    """The text of a file that has to exist. Raises `NodeError`, also if it is not UTF-8."""
    try:
        return read_bytes(context, path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"`{path}` is not UTF-8 text: {error.reason} at byte {error.start}"
        raise LastingError("file-unreadable", message) from error


def read_json(context: NodeContext, path: str, schema: str | None = None) -> Any:
    """The content of a JSON file that has to exist, and has to match the schema. Raises `NodeError`."""
    files = ProjectFiles(context.project, context.definitions, context.registry)
    data = _parse_json(_lenient_text(files, path), path)
    problem = None if schema is None else files.against_schema(path, schema)
    if problem is not None:
        raise LastingError("inputs-invalid", problem)
    return data


def _lenient_text(files: ProjectFiles, path: str) -> str:
    """The text of a file that has to exist; bytes that are not UTF-8 are replaced."""
    text = files.text(path)
    if text is None:
        raise LastingError("inputs-missing", f"`{path}` is missing")
    return text


def _parse_json(text: str, path: str) -> Any:
    """The data of a JSON text. Numbers keep their texts. Raises `NodeError`."""
    try:
        return json.loads(text, parse_float=parse_float, parse_constant=_refuse_constant)
    except RecursionError:
        raise LastingError("inputs-invalid", f"`{path}` is nested too deeply") from None
    except ValueError as error:
        raise LastingError("inputs-invalid", f"`{path}` is not JSON: {error}") from error


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"`{name}` is not a number")


def write_json(context: NodeContext, path: str, data: Any) -> None:
    write_text(context, path, f"{as_json(data, is_indented=True)}\n")


def write_text(context: NodeContext, path: str, text: str) -> None:
    _put_file(path_inside(context, path), text.encode(), context)


def put_files(files: Mapping[str, bytes], context: NodeContext) -> None:
    """Write several files. None is written if one of the paths is not a file, or if one of them contains a secret."""
    secrets = Secrets(context.env, context.secrets)
    for real, content in files.items():
        _permissions(real)
        if (name := secrets.found_in(content)) is not None:
            what = f"`{os.path.relpath(real, context.project)}` would contain the value of the secret variable `{name}`"
            raise LastingError("artifact-secret", f"{what}, so nothing is written")
    for real, content in files.items():
        _put_file(real, content, context)


def _put_file(real: str, content: bytes, context: NodeContext) -> None:
    """Write a whole file. It is on disk when this returns. A file that exists keeps its permissions.

    The new content is first written to a file beside it. If this process is killed, the run removes that file later.
    """
    exact = _permissions(real)
    folder = os.path.dirname(real)
    os.makedirs(folder, exist_ok=True)
    new = os.path.join(folder, f"{LITTER}{uuid.uuid4().hex[:12]}")
    context.litter(new)
    write_whole(real, content, durable=True, mode=0o644, new=new, exact=exact)


def _permissions(real: str) -> int | None:
    """The permissions of a file that is overwritten; None if there is none. Raises `NodeError` if it is no file."""
    try:
        mode = os.stat(real).st_mode
    except OSError:
        return None
    if (kind := other_kind(mode)) is not None:
        raise LastingError("file-kind", f"`{real}` is {kind}, not a file")
    return stat.S_IMODE(mode)


class OutputFiles(NamedTuple):
    """The paths of a step's files as they were given, and their real paths, by the name of the param."""

    paths: dict[str, str]
    real: dict[str, str]

    def write(self, contents: Mapping[str, bytes], context: NodeContext) -> None:
        put_files({self.real[name]: data for name, data in contents.items() if name in self.real}, context)


def output_files(work: Work, context: NodeContext, *names: str) -> OutputFiles:
    """The files that these params name. Raises `NodeError` if one is outside of the project, or if two are the same."""
    paths = {name: path for name in names if (path := work.params.get(name)) is not None}
    real = {name: path_inside(context, path) for name, path in paths.items()}
    if len(set(real.values())) < len(real):
        raise LastingError("params", f"{', '.join(f'`{name}`' for name in real)} have to be different")
    return OutputFiles(paths, real)


def remove_file(context: NodeContext, path: str) -> bool:
    """Remove a file of the project, or a link to one. Returns whether it was there."""
    folder = real_inside(context.project, os.path.dirname(path) or ".")
    if folder is None or os.path.basename(path) in ("", ".", ".."):
        raise LastingError("path-escape", f"`{path}` {why_outside(path)}")
    try:
        os.unlink(os.path.join(folder, os.path.basename(path)))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise LastingError("file-kind", f"`{path}` cannot be removed: {error.strerror}") from error
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


_FILE_CHECK = Node(
    about="Says whether a path exists.",
    params=(
        Field("path", ("text", "null"), "the path, relative to the project", required=True),
        *map(unused_param, ("panelTitle", "foundMessage", "tone")),
    ),
    others="ignored",
    outputs={"exists": "true if the path exists; an empty path and null do not"},
    is_harmless=True,
)


async def _check_file(work: Work, context: NodeContext) -> Any:
    path = work.params["path"] or ""
    return {"exists": path != "" and os.path.exists(os.path.join(context.project, path))}


_READ_FILE = Node(
    about="Reads a text file of the project.",
    params=(path_param("path", "the file, relative to the project", also=("file", "filename")),),
    others="ignored",
    outputs={
        "text": "its text, without white space at both ends",
        "data": "what it holds, if its name ends with `.json` and it is JSON; else null",
    },
    is_harmless=True,
)


async def _read_file(work: Work, context: NodeContext) -> Any:
    path = work.params["path"]
    text = read_text(context, path).strip()
    return {"text": text, "data": json_value(text) if path.endswith(".json") else None}


_WRITE_FILE = Node(
    about="Writes a text file in the project, and creates its folder if needed.",
    params=(
        path_param("path", "the file, relative to the project", also=("file", "filename")),
        Field(
            "text",
            (*SCALARS, "list", "mapping"),
            "the whole content of the file; a list or an object is written as JSON",
            required=True,
            also=("content", "contents", "body", "data"),
        ),
    ),
    outputs={"path": "the path as it was given"},
)


async def _write_file(work: Work, context: NodeContext) -> Any:
    path, content = work.params["path"], work.params["text"]
    if isinstance(content, list | dict):
        write_json(context, path, content)
    else:
        write_text(context, path, as_text(content))
    return {"path": path}


_STRUCTURED_SUMMARY = Node(
    about="Reads the member `summary` of a JSON file.",
    params=(path_param("path", "the JSON file, relative to the project"), unused_param("maxLength", ("integer",))),
    others="ignored",
    outputs={"summary": "the summary, without white space at both ends"},
)


async def _read_summary(work: Work, context: NodeContext) -> Any:
    path = work.params["path"]
    summary = _summary_in(read_json(context, path))
    if summary is None:
        raise LastingError("inputs-invalid", f"`{path}` has no text `summary`, or it is blank")
    return {"summary": summary}


def _summary_in(data: Any) -> str | None:
    """The member `summary` of an object. None if it is not text, or blank."""
    summary = data.get("summary") if isinstance(data, dict) else None
    return summary.strip() or None if isinstance(summary, str) else None


_SUMMARY_FILE_LOAD = Node(
    about="Makes the text of a file the summary of the run.",
    params=(path_param("path", "the file, relative to the project"), unused_param("title")),
    others="ignored",
    outputs={"text": "its text, without white space at both ends"},
    summary="text",
)


async def _load_summary(work: Work, context: NodeContext) -> Any:
    return {"text": _lenient_text(ProjectFiles(context.project), work.params["path"]).strip()}


_ENSURE_SUMMARY = Node(
    about="Makes sure that a JSON file has a text `summary`. If it has none, the text of a Markdown file becomes it.",
    params=(path_param("markdownFile", "the Markdown file"), path_param("outputFile", "the JSON file")),
    others="ignored",
    outputs={
        "outputFile": "the JSON file",
        "created": "true if there was no JSON file",
        "repaired": "true if there was one without a summary; it is replaced",
        "writtenFiles": "the files that are published: the JSON file if it was written",
    },
    published="writtenFiles",
)


async def _ensure_summary(work: Work, context: NodeContext) -> Any:
    target, source = work.params["outputFile"], work.params["markdownFile"]
    files = ProjectFiles(context.project)
    before = context.remember("before", _summary_state(files.text(target), target))
    if before == "whole":
        return {"outputFile": target, "created": False, "repaired": False, "writtenFiles": []}
    summary = _plain_text(_lenient_text(files, source))
    if not summary:
        raise LastingError("inputs-invalid", f"`{source}` is empty")
    write_json(context, target, {"summary": summary})
    is_new = before == "missing"
    return {"outputFile": target, "created": is_new, "repaired": not is_new, "writtenFiles": [target]}


def _summary_state(text: str | None, path: str) -> str:
    """`whole` if the text is JSON with a summary, else `invalid`; `missing` if there is no text."""
    if text is None:
        return "missing"
    try:
        return "invalid" if _summary_in(_parse_json(text, path)) is None else "whole"
    except NodeError:
        return "invalid"


def _plain_text(markdown: str) -> str:
    """The text of Markdown without the marks of headings, lists, code and bold words."""
    text = markdown.replace("\r\n", "\n")
    text = re.sub(r"^[ \t]{0,3}#{1,6}[ \t]+", "", text, flags=re.MULTILINE)
    text = re.sub(r"^([ \t]*)[*+-][ \t]+", r"\1- ", text, flags=re.MULTILINE)
    text = re.sub(r"`([^`\n]+)`", r"\1", text)
    text = re.sub(r"\*\*([^*\n]+)\*\*", r"\1", text)
    text = re.sub(r"(?<!\w)__([^_\n]+)__(?!\w)", r"\1", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


FILE_CHECK = OneNode(_FILE_CHECK, _check_file)
READ_FILE = OneNode(_READ_FILE, _read_file)
WRITE_FILE = OneNode(_WRITE_FILE, _write_file)
STRUCTURED_SUMMARY = OneNode(_STRUCTURED_SUMMARY, _read_summary)
SUMMARY_FILE_LOAD = OneNode(_SUMMARY_FILE_LOAD, _load_summary)
ENSURE_SUMMARY_JSON = OneNode(_ENSURE_SUMMARY, _ensure_summary)
