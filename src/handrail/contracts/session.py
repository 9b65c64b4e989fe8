"""What a node that drives an agent through a workflow needs from guided sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from handrail.contracts.host import Stubs
from handrail.source.dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Standing:
    """The state of a workflow in an agent's conversation. `message` is the next prompt for the agent.

    `same_failures` counts how often in a row the exit checks failed in the same way, and `warnings` how often the agent
    was told so.
    """

    session: str
    status: str
    steps: int
    status_line: str | None
    message: str
    summaries: list[dict[str, str]]
    same_failures: int = 0
    warnings: int = 0


@dataclass(frozen=True, kw_only=True)
class GuideNews:
    """Something that happened in a guided session. `number` counts all events of the session, from 1.

    | kind | what happened; `text` |
    | entered | a phase began; the summary of the phase before it |
    | looped | the agent started the innermost workflow over |
    | check-failed | the phase could not be left; which checks failed, and why |
    | check-held | the checks of the phase hold; which. Only the log of a session tells it |
    | sent-on | the agent tried to stop and was told to continue |
    | let-go | the agent stopped too often without progress; the reason |
    | finished | the workflow is done; the summary of its last phase |
    | cancelled | the workflow was cancelled; the reason |

    `phase` is the phase where it happened. `place` is its place in the workflow, as in the status line.
    """

    session: str
    number: int
    time: float
    kind: str
    phase: str
    place: str
    text: str


class Guide(Protocol):
    """Starts guided sessions in an agent's conversation and returns their state."""

    idle_stops: int
    stubs: Stubs

    def begin(self, workflow: str, task: str, host: tuple[str, str], run: str) -> Standing: ...

    def standing(self, host: tuple[str, str]) -> Standing | None: ...

    def is_heard(self, host: tuple[str, str]) -> bool:
        """True if the agent's hooks have called Handrail in this conversation. Without them nothing is enforced."""
        ...

    def thread(self, host: tuple[str, str]) -> str | None:
        """The agent's own id of the conversation, to continue it; None if the agent has not told one."""
        ...

    def set_thread(self, host: tuple[str, str], thread: str) -> None:
        """Record the agent's own id of the conversation."""
        ...

    def follow(self, host: tuple[str, str]) -> Callable[[], list[GuideNews]]:
        """A function that returns what happened in the session since its last call. The first call returns all."""
        ...
