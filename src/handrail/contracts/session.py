"""Guided sessions as a node sees them that leads an agent through a workflow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from handrail.contracts.host import Stubs


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where a workflow stands in an agent's conversation. `message` is what the agent is told to go on."""

    session: str
    status: str
    steps: int
    status_line: str | None
    message: str
    summaries: list[dict[str, str]]


class Guide(Protocol):
    """Guided sessions, as a node that drives an agent through a workflow sees them."""

    idle_stops: int
    stubs: Stubs

    def begin(self, workflow: str, task: str, host: tuple[str, str]) -> Standing: ...

    def standing(self, host: tuple[str, str]) -> Standing | None: ...
