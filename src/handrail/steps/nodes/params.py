"""Params that many nodes declare in the same way."""

from __future__ import annotations

from handrail.source.fields import SCALARS, Field
from handrail.source.tree import ValueKind

NOT_USED = "accepted because AgentWeaver's flows have it; not used"


def path_param(name: str, about: str, *, required: bool = True, also: tuple[str, ...] = ()) -> Field:
    return Field(name, ("text",), about, required=required, shortest=1, names="path", also=also)


def text_param(name: str, about: str, *, also: tuple[str, ...] = ()) -> Field:
    """A text that is required and not blank."""
    return Field(name, ("text",), about, required=True, shortest=1, also=also)


def unused_param(name: str, kinds: tuple[ValueKind, ...] = SCALARS) -> Field:
    return Field(name, kinds, NOT_USED)
