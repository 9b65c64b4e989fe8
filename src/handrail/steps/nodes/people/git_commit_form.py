"""`git-commit-form`: asks a person for the files and the message of a commit, and to confirm it."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.source.values import as_text
from handrail.steps.nodes.people.form_steps import (
    ANSWER_OUTPUTS,
    DESCRIPTION,
    FILES_FIELD_ID,
    FORM_ID,
    MESSAGE_FIELD_ID,
    TITLE,
    files_field,
    fill_in,
    form_of,
    path_field,
    proposed_message,
)

CONFIRM = "confirm"
REFUSED = "not-confirmed"
NODE = Node(
    about="Asks a person for the files and the message of a commit. Fails if the person does not confirm it.",
    params=(
        path_field("gitStatusJsonFile", "the `outputFile` of `git-status`"),
        path_field("commitMessageFile", "a JSON file with `subject` and `body`, or a text file with the message"),
        FORM_ID,
        TITLE,
        DESCRIPTION,
        path_field("outputFile", "a file for the answers, as JSON"),
    ),
    others="ignored",
    outputs={**ANSWER_OUTPUTS, "values": "`selected_files`, `commit_message` and `confirm`"},
    members=lambda _: {**dict.fromkeys(ANSWER_OUTPUTS), "values": [FILES_FIELD_ID, MESSAGE_FIELD_ID, CONFIRM]},
)


async def run(work: Work, context: NodeContext) -> Any:
    if context.failure is not None and context.failure[0] == REFUSED:
        raise _refused()  # the answer counts, also if the files are others when the run is resumed
    message = "\n\n".join(filter(None, proposed_message(context, as_text(work.params["commitMessageFile"]))))
    text = {"id": MESSAGE_FIELD_ID, "type": "text", "label": "Commit message", "multiline": True, "rows": 8}
    fields = [
        files_field(context, as_text(work.params["gitStatusJsonFile"])),
        {**text, "required": True, "default": message},
        {"id": CONFIRM, "type": "boolean", "label": "Commit these files", "default": True},
    ]
    answers = await fill_in(form_of({**work.params, "fields": fields}), work.params["outputFile"], context)
    if not answers["values"][CONFIRM]:
        raise _refused()
    return answers


def _refused() -> NodeError:
    return NodeError(REFUSED, "a person did not confirm the commit", transient=False)
