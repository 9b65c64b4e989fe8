"""What a node would change outside, told in advance, so that a person or a rule can say yes to exactly that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from handrail.contracts.node import NodeContext, NodeError, NodeKind, Work
from handrail.source.dataclasses import dataclass, field

CHANGED = "changed"
"""The code of a node that found another state than the approved one. Nothing was done."""


@dataclass(frozen=True, kw_only=True)
class Preview:
    """The effect of a node, in advance.

    `title` says it in one line. `facts` are everything that is sent or changed, as (name, text), in the order for
    people. `state` is what the effect depends on: name → commit, digest or address. `where` are the values that a
    rule can ask for, by the names in `Node.where`. `risks` are those of these names that a rule has to ask for by
    itself: a rule that says nothing about them does not approve the effect.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    state: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)
    risks: tuple[str, ...] = ()


class EffectKind(NodeKind, Protocol):
    """A module in `nodes/` whose `NODE` has `where`. `preview` only reads."""

    async def preview(self, work: Work, context: NodeContext) -> Preview: ...


class ApprovalKind(NodeKind, Protocol):
    """A module in `nodes/` that asks for a yes. The forms that it asks have its name as their id."""

    async def changed(self, work: Work, context: NodeContext) -> list[str]:
        """The names of what has changed since its open question was asked; empty if nothing has. It only reads."""
        ...


def refuse_changed(work: Work, now: Mapping[str, str]) -> None:
    """Raise `NodeError` if the state is not the one that was approved. Called right before the effect."""
    if work.approved is None:
        return
    names = [name for name, value in now.items() if work.approved.get(name) != value]
    if names:
        listed = ", ".join(f"`{name}`" for name in names)
        raise NodeError(CHANGED, f"this has changed since it was approved: {listed}", transient=False)
