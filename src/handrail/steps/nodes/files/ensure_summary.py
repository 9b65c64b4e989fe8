"""`ensure-summary-json`: makes sure that a JSON file has a summary, if needed from the Markdown file beside it."""

from __future__ import annotations

import re
from typing import Any

from handrail.driven.artifacts.project_files import ProjectFiles
from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.source.fields import Field
from handrail.steps.nodes.files.json_files import parse_json, summary_in, text_param, write_json

NODE = Node(
    about="Makes sure that a JSON file has a text `summary`. If it has none, the text of a Markdown file becomes it.",
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
)


async def run(work: Work, context: NodeContext) -> Any:
    world, target, source = (
        ProjectFiles(context.project),
        *(text_param(work.params, n) for n in ("outputFile", "markdownFile")),
    )
    found = world.text(target)
    is_whole = found is not None and _has_summary(found, target)
    before = context.remember("before", "whole" if is_whole else "invalid" if found is not None else "missing")
    if before == "whole":
        return {"outputFile": target, "created": False, "repaired": False, "writtenFiles": []}
    text = world.text(source)
    if text is None:
        raise NodeError("inputs-missing", f"`{source}` is missing", transient=False)
    summary = plain_text(text)
    if not summary:
        raise NodeError("inputs-invalid", f"`{source}` is empty", transient=False)
    write_json(context, target, {"summary": summary})
    is_new = before == "missing"
    return {"outputFile": target, "created": is_new, "repaired": not is_new, "writtenFiles": [target]}


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
