"""What an agent implements so that Handrail can call it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from handrail.contracts.host import Stubs

PERMISSIONS = ("read", "work", "full")


OUTCOMES = {
    "done": "the agent did its turn",
    "refused": "the model would not do it",
    "rate-limit": "too many requests for now",
    "quota": "what was paid for is used up",
    "auth": "the service does not know the caller",
    "overflow": "the conversation does not fit into the model any more",
    "unavailable": "the service failed or could not be reached",
    "crash": "the program ended before its turn did",
    "timeout": "it took longer than it was given",
}


@dataclass(frozen=True, kw_only=True)
class AgentJob:
    """What an agent is given: one prompt, a folder, a time limit. `session` goes on with an earlier conversation.

    `permissions`: `read` looks only, `work` may edit and run programs in the folder, `full` may do anything. `schema`
    is the JSON Schema of an answer that is wanted. With `stubs` the guided mode is in force for this job only;
    `new_session` is the id that a new conversation is to have then. `extra` are further arguments.
    """

    prompt: str
    cwd: str
    env: Mapping[str, str]
    timeout: float
    model: str | None = None
    session: str | None = None
    permissions: str = "work"
    schema: dict[str, Any] | None = None
    extra: tuple[str, ...] = ()
    hold: int | None = None
    stubs: Stubs | None = None
    new_session: str | None = None


@dataclass(frozen=True)
class AgentSaid:
    """Something that an agent did.

    | kind | data |
    | session | id |
    | text | text |
    | tool | id, name, input |
    | result | id, ok, output |
    | denied | name, reason |
    | retry | message |
    | usage | inputTokens, outputTokens, cachedTokens, usd: of this job so far; null where it is not known |
    | finished | outcome, message, resetsAt, text, structured |
    """

    kind: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Launch:
    """How a program is started. `files` are put into a private folder first: name → content."""

    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    stdin: bytes | None = None
    files: dict[str, str] = field(default_factory=dict)


class AgentReader(Protocol):
    """Understands what one agent prints during one job."""

    def take(self, data: dict[str, Any]) -> Iterable[AgentSaid]: ...

    def end(self, exit_code: int, errors: str) -> Iterable[AgentSaid]:
        """What is known when the program has ended; the last of it is `finished`."""
        ...


class Executor(Protocol):
    """A module under `agents/` that can be called. `ENVIRONMENT`: names or patterns of variables that it needs.

    `folder` is private to the job and gone after it; what the program leaves there, the reader finds at its end.
    """

    PROGRAM: str
    ENVIRONMENT: tuple[str, ...]

    def launch(self, job: AgentJob, folder: str) -> Launch: ...

    def reader(self, job: AgentJob, folder: str) -> AgentReader: ...
