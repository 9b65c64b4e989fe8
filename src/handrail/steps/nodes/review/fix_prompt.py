"""`build-review-fix-prompt`: the text for an agent that says which findings of a review it has to fix."""

from __future__ import annotations

from typing import Any

from handrail.driven.forms.form import review_fix_suffix
from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.source.fields import Field
from handrail.steps.nodes.files.json_files import read_json

NODE = Node(
    about="Makes the text that tells an agent which findings of a review to fix, from the file with the selection.",
    params=(
        Field(
            "selectionFile",
            ("text",),
            "the selection, from `write-selection-file` or a form",
            required=True,
            shortest=1,
            names="path",
        ),
        Field("autoMode", ("boolean",), "true if no person selected the findings", required=True),
    ),
    others="ignored",
    outputs={
        "promptSuffix": "the text for the agent",
        "selectionMode": "`auto` or `interactive`",
        "applyAll": "true if all findings are to be fixed",
        "selectedFindings": "the titles of the selected findings",
    },
)


async def run(work: Work, context: NodeContext) -> Any:
    path, is_auto = work.params["selectionFile"], work.params["autoMode"]
    values = read_json(context, path, "user-input/v1")["values"]
    is_all, titles = values.get("apply_all") is True, values.get("selected_findings") or []
    if not isinstance(titles, list) or any(not isinstance(title, str) for title in titles):
        message = f"`{path}`: `selected_findings` has to be a list of titles"
        raise NodeError("inputs-invalid", message, transient=False)
    return {
        "promptSuffix": review_fix_suffix(values, path),
        "selectionMode": "auto" if is_auto else "interactive",
        "applyAll": is_all,
        "selectedFindings": titles,
    }
