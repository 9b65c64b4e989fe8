"""What the nodes that write comments share: the text, without secrets, and their outputs."""

from __future__ import annotations

from handrail.contracts import NodeContext, NodeError, Work
from handrail.secrets.redaction import Secrets
from handrail.source.fields import SCALARS, Field
from handrail.source.values import as_text

TEXT = Field("text", SCALARS, "the comment, as Markdown", required=True, also=("body", "comment", "message"))
OUTPUTS = {"commentUrl": "the address of the comment", "commentId": "the id of the comment"}


def comment_text(work: Work, context: NodeContext) -> str:
    """The comment with secrets hidden. Raises `NodeError` if it is blank."""
    text = Secrets(context.env, context.secrets).mask(as_text(work.params[TEXT.name]))
    if not text.strip():
        raise NodeError("params", f"`{TEXT.name}` is blank", transient=False)
    return text
