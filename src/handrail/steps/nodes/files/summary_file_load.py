"""`summary-file-load`: makes the text of a file the summary of the run."""

from __future__ import annotations

from typing import Any

from handrail.driven.artifacts.project_files import ProjectFiles
from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.source.fields import SCALARS, Field
from handrail.steps.nodes.files.json_files import text_param

NODE = Node(
    about="Makes the text of a file the summary of the run.",
    params=(
        Field("path", ("text",), "the file, relative to the project", required=True, shortest=1, names="path"),
        Field("title", SCALARS, "accepted because AgentWeaver's flows have it; not used"),
    ),
    others="ignored",
    outputs={"text": "its text, without white space at both ends"},
    summary="text",
)


async def run(work: Work, context: NodeContext) -> Any:
    path = text_param(work.params, "path")
    text = ProjectFiles(context.project).text(path)
    if text is None:
        raise NodeError("inputs-missing", f"`{path}` is missing", transient=False)
    return {"text": text.strip()}
