"""`select-files-form`: asks a person which changed files are to be committed."""

from __future__ import annotations

from typing import Any

from handrail.contracts import Node, NodeContext, Work
from handrail.nodes.forms.changed_files import FILES, files_field
from handrail.nodes.forms.filling import OUTPUTS, fill_in, form_of
from handrail.nodes.forms.reading import DESCRIPTION, FORM_ID, TITLE, path_field
from handrail.source.values import as_text

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
    outputs={**OUTPUTS, "values": "`selected_files`: the chosen files"},
    members=lambda _: {**dict.fromkeys(OUTPUTS), "values": [FILES]},
)


async def run(work: Work, context: NodeContext) -> Any:
    fields = [files_field(context, as_text(work.params["gitStatusJsonFile"]))]
    return await fill_in(form_of({**work.params, "fields": fields}), work.params["outputFile"], context)
