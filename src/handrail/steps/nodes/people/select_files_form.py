"""`select-files-form`: asks a person which changed files are to be committed."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, Work
from handrail.source.values import as_text
from handrail.steps.nodes.people.form_steps import (
    ANSWER_OUTPUTS,
    DESCRIPTION,
    FILES_FIELD_ID,
    FORM_ID,
    TITLE,
    files_field,
    fill_in,
    form_of,
    path_field,
)

NODE = Node(
    about="Asks a person which of the files in a result of `git-status` are to be committed.",
    params=(
        path_field("gitStatusJsonFile", "the `outputFile` of `git-status`"),
        FORM_ID,
        TITLE,
        DESCRIPTION,
        path_field("outputFile", "a file for the answers, as JSON"),
    ),
    others="ignored",
    outputs={**ANSWER_OUTPUTS, "values": "`selected_files`: the chosen files"},
    members=lambda _: {**dict.fromkeys(ANSWER_OUTPUTS), "values": [FILES_FIELD_ID]},
)


async def run(work: Work, context: NodeContext) -> Any:
    fields = [files_field(context, as_text(work.params["gitStatusJsonFile"]))]
    return await fill_in(form_of({**work.params, "fields": fields}), work.params["outputFile"], context)
