"""What a node that drives an agent through a workflow needs from guided sessions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from handrail.contracts.host import Stubs


@dataclass(frozen=True, kw_only=True)
class Standing:
    """The state of a workflow in an agent's conversation. `message` is the next prompt for the agent."""

    session: str
    status: str
    steps: int
    status_line: str | None
    message: str
    summaries: list[dict[str, str]]


class Guide(Protocol):
    """Starts guided sessions in an agent's conversation and returns their state."""

    idle_stops: int
    stubs: Stubs

    def begin(self, workflow: str, task: str, host: tuple[str, str], run: str) -> Standing: ...

    def standing(self, host: tuple[str, str]) -> Standing | None: ...
