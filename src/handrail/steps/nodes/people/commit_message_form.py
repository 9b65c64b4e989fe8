"""`commit-message-form`: lets a person change the message that was proposed for a commit."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, Work
from handrail.source.values import as_text
from handrail.steps.nodes.people.form_steps import (
    ANSWER_OUTPUTS,
    DESCRIPTION,
    FORM_ID,
    MESSAGE_FIELD_ID,
    TITLE,
    fill_in,
    form_of,
    path_field,
    proposed_message,
)

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
    outputs={**ANSWER_OUTPUTS, "values": "`commit_message`: the message"},
    members=lambda _: {**dict.fromkeys(ANSWER_OUTPUTS), "values": [MESSAGE_FIELD_ID]},
    makes=("outputFile",),
)


async def run(work: Work, context: NodeContext) -> Any:
    subject, _ = proposed_message(context, as_text(work.params["commitMessageFile"]))
    field = {"id": MESSAGE_FIELD_ID, "type": "text", "label": "Commit message", "required": True, "default": subject}
    return await fill_in(form_of({**work.params, "fields": [field]}), work.params["outputFile"], context)
