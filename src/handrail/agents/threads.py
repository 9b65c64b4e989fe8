"""Ids of conversations that an agent is asked to continue. Pure."""

from __future__ import annotations

import uuid

from handrail.contracts import NodeError


def checked_id(session: str, product: str) -> str:
    """The id of a conversation, for agents whose ids are UUIDs. Raises `NodeError` for any other text."""
    try:
        return str(uuid.UUID(session))
    except ValueError:
        message = f"`{session}` is not a conversation id of {product}"
        raise NodeError("session-unknown", message, transient=False) from None
