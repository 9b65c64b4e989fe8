"""`structured-summary`: the member `summary` of a JSON file."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.source.fields import Field
from handrail.steps.nodes.files.json_files import read_json, summary_in, text_param

NODE = Node(
    about="Reads the member `summary` of a JSON file.",
    params=(
        Field("path", ("text",), "the JSON file, relative to the project", required=True, shortest=1, names="path"),
        Field("maxLength", ("integer",), "accepted because AgentWeaver's flows have it; not used"),
    ),
    others="ignored",
    outputs={"summary": "the summary, without white space at both ends"},
)


async def run(work: Work, context: NodeContext) -> Any:
    path = text_param(work.params, "path")
    summary = summary_in(read_json(context, path))
    if summary is None:
        raise NodeError("inputs-invalid", f"`{path}` has no text `summary`, or it is blank", transient=False)
    return {"summary": summary}
