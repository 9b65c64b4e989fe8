"""`commit-message-form`: lets a person change the message that was proposed for a commit."""

from __future__ import annotations

from typing import Any

from handrail.contracts import Node, NodeContext, Work
from handrail.nodes.forms.changed_files import MESSAGE, proposed
from handrail.nodes.forms.filling import OUTPUTS, fill_in, form_of
from handrail.nodes.forms.reading import DESCRIPTION, FORM_ID, TITLE, path_field
from handrail.source.values import as_text

NODE = Node(
    about="Shows the proposed message of a commit to a person, who may change it.",
    params=(
        path_field("commitMessageFile", "a JSON file with `subject`, or a text file with the message"),
        FORM_ID,
        TITLE,
        DESCRIPTION,
        path_field("outputFile", "a file for the answers, as JSON"),
    ),
    others="ignored",
    outputs={**OUTPUTS, "values": "`commit_message`: the message"},
    members=lambda _: {**dict.fromkeys(OUTPUTS), "values": [MESSAGE]},
    makes=("outputFile",),
)


async def run(work: Work, context: NodeContext) -> Any:
    subject, _ = proposed(context, as_text(work.params["commitMessageFile"]))
    field = {"id": MESSAGE, "type": "text", "label": "Commit message", "required": True, "default": subject}
    return await fill_in(form_of({**work.params, "fields": [field]}), work.params["outputFile"], context)
