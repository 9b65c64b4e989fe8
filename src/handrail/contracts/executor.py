"""What an agent implements so that Handrail can call it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from handrail.contracts.host import Stubs
from handrail.source.agents import PERMISSIONS as PERMISSIONS
from handrail.source.agents import AcpAgent
from handrail.source.dataclasses import dataclass, field

OUTCOMES = {
    "done": "the agent finished its turn",
    "refused": "the model refused",
    "rate-limit": "too many requests; it works again later",
    "quota": "the paid quota is used up",
    "auth": "the service did not accept the credentials",
    "overflow": "the conversation is too long for the model",
    "unavailable": "the service failed or could not be reached",
    "crash": "the program ended before the turn ended",
    "timeout": "it took longer than the time limit",
}


@dataclass(frozen=True, kw_only=True)
class AgentJob:
    """What an agent gets: one prompt, a folder, a time limit. `session` continues an earlier conversation.

    `permissions`: `read` may only read, `work` may edit and run programs in the folder, `full` may do anything.
    `schema` is the JSON Schema of the answer. `stubs` turn on the guided mode for this job only; `new_session` is then
    the id for a new conversation. `extra` are further arguments. `program` is the path of the program if a variable of
    the user chooses it. `usd` is how many dollars it may use; None if that has no bound. `has_logins`: its program gets
    the person's logins of git and of forges; else only the variables in `keeps`. `fresh` is the prompt for a new
    conversation if the agent cannot continue `session`; None if it then fails. `acp` is what the settings say of an
    agent `acp:NAME`.
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
    program: str | None = None
    usd: float | None = None
    has_logins: bool = False
    keeps: tuple[str, ...] = ()
    fresh: str | None = None
    acp: AcpAgent | None = None


@dataclass(frozen=True)
class AgentSaid:
    """Something that an agent did.

    | kind | data |
    | session | id |
    | text | text |
    | tool | id, name, input |
    | result | id, ok, output |
    | denied | name, reason |
    | allowed | name, reason: the agent asked, and Handrail allowed it |
    | plan | text: the next item of the plan that the agent made |
    | retry | message |
    | again | message: Handrail calls the agent again, and why |
    | guided | news: something happened in the workflow that the agent follows, a `GuideNews` |
    | usage | inputTokens, outputTokens, cachedTokens, usd: of this job so far; None if it is not known |
    | finished | outcome, message, resetsAt, text, structured |
    """

    kind: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Launch:
    """How to start a program. `files` are first written to a private folder: name → content."""

    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    stdin: bytes | None = None
    files: dict[str, str] = field(default_factory=dict)


class AgentReader(Protocol):
    """Parses what one agent prints during one job."""

    def take(self, data: dict[str, Any]) -> Iterable[AgentSaid]: ...

    def end(self, exit_code: int, errors: str) -> Iterable[AgentSaid]:
        """What is known after the program has ended. The last item is `finished`."""
        ...


class Executor(Protocol):
    """A module in `agents/` that Handrail can call. `ENVIRONMENT`: names or patterns of the variables that it needs.

    `folder` is private to the job and removed after it. The reader can still read it in `end`.
    """

    PROGRAM: str
    ENVIRONMENT: tuple[str, ...]

    def launch(self, job: AgentJob, folder: str) -> Launch: ...

    def reader(self, job: AgentJob, folder: str) -> AgentReader: ...


class Known(Protocol):
    """What a module may have in addition, for `handrail doctor`.

    `TESTED` are the versions of the program that were tested, the oldest first. `LOGIN` is the file in which it keeps a
    login: the variable that names its folder, else the folder below the user's home, and the name of the file.
    """

    TESTED: tuple[str, ...]
    LOGIN: tuple[str, str, str]
