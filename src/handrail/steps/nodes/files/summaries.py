"""Summaries in files: `structured-summary`, `summary-file-load` and `ensure-summary-json`."""

from __future__ import annotations

import re
from typing import Any

from handrail.driven.artifacts.project_files import ProjectFiles
from handrail.extensions.contracts import Node, NodeContext, NodeError, OneNode, Work
from handrail.source.fields import SCALARS, Field
from handrail.steps.nodes.files.json_files import parse_json, read_json, summary_in, write_json


async def _run_read(work: Work, context: NodeContext) -> Any:
    path = work.params["path"]
    summary = summary_in(read_json(context, path))
    if summary is None:
        raise NodeError("inputs-invalid", f"`{path}` has no text `summary`, or it is blank", transient=False)
    return {"summary": summary}


READ = OneNode(
    Node(
        about="Reads the member `summary` of a JSON file.",
        params=(
            Field("path", ("text",), "the JSON file, relative to the project", required=True, shortest=1, names="path"),
            Field("maxLength", ("integer",), "accepted because AgentWeaver's flows have it; not used"),
        ),
        others="ignored",
        outputs={"summary": "the summary, without white space at both ends"},
    ),
    _run_read,
)


async def _run_load(work: Work, context: NodeContext) -> Any:
    path = work.params["path"]
    return {"text": _text(context, path).strip()}


LOAD = OneNode(
    Node(
        about="Makes the text of a file the summary of the run.",
        params=(
            Field("path", ("text",), "the file, relative to the project", required=True, shortest=1, names="path"),
            Field("title", SCALARS, "accepted because AgentWeaver's flows have it; not used"),
        ),
        others="ignored",
        outputs={"text": "its text, without white space at both ends"},
        summary="text",
    ),
    _run_load,
)


def _text(context: NodeContext, path: str) -> str:
    text = ProjectFiles(context.project).text(path)
    if text is None:
        raise NodeError("inputs-missing", f"`{path}` is missing", transient=False)
    return text


async def _run_ensure(work: Work, context: NodeContext) -> Any:
    target, source = work.params["outputFile"], work.params["markdownFile"]
    found = ProjectFiles(context.project).text(target)
    is_whole = found is not None and _has_summary(found, target)
    before = context.remember("before", "whole" if is_whole else "invalid" if found is not None else "missing")
    if before == "whole":
        return {"outputFile": target, "created": False, "repaired": False, "writtenFiles": []}
    summary = plain_text(_text(context, source))
    if not summary:
        raise NodeError("inputs-invalid", f"`{source}` is empty", transient=False)
    write_json(context, target, {"summary": summary})
    is_new = before == "missing"
    return {"outputFile": target, "created": is_new, "repaired": not is_new, "writtenFiles": [target]}


ENSURE = OneNode(
    Node(
        about="Makes sure that a JSON file has a text `summary`. If it has none, the text of a Markdown file becomes "
        "it.",
        params=(
            Field("markdownFile", ("text",), "the Markdown file", required=True, shortest=1, names="path"),
            Field("outputFile", ("text",), "the JSON file", required=True, shortest=1, names="path"),
        ),
        others="ignored",
        outputs={
            "outputFile": "the JSON file",
            "created": "true if there was no JSON file",
            "repaired": "true if there was one without a summary; it is replaced",
            "writtenFiles": "the files that are published: the JSON file if it was written",
        },
        published="writtenFiles",
    ),
    _run_ensure,
)


def _has_summary(text: str, path: str) -> bool:
    try:
        return summary_in(parse_json(text, path)) is not None
    except NodeError:
        return False


def plain_text(markdown: str) -> str:
    """The text of Markdown without the marks of headings, lists, code and bold words."""
    text = markdown.replace("\r\n", "\n")
    text = re.sub(r"^[ \t]{0,3}#{1,6}[ \t]+", "", text, flags=re.MULTILINE)
    text = re.sub(r"^([ \t]*)[*+-][ \t]+", r"\1- ", text, flags=re.MULTILINE)
    text = re.sub(r"`([^`\n]+)`", r"\1", text)
    text = re.sub(r"\*\*([^*\n]+)\*\*", r"\1", text)
    text = re.sub(r"(?<!\w)__([^_\n]+)__(?!\w)", r"\1", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip()
