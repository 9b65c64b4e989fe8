"""All that an extension implements. A kind of check is a module with this one function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from handrail.settings import Route


@dataclass(frozen=True)
class CheckContext:
    """Where a check runs."""

    project: str
    env: Mapping[str, str]


@dataclass(frozen=True)
class Finding:
    """What a check found. `held` is nothing when it could not be run at all."""

    held: bool | None
    detail: str


class NodeError(Exception):
    """A node could not do its work. `transient` failures may be tried again, those with `resets_at` from then on."""

    def __init__(self, code: str, message: str, *, transient: bool = True, resets_at: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.transient = transient
        self.resets_at = resets_at


@dataclass(frozen=True, kw_only=True)
class Work:
    """One node to be run: where, which, with what. `own_checks`: the step says nothing, so the node checks itself.

    `rerun` is what the flow says about doing it again after it was cut off; nothing where it leaves that to the node.
    """

    path: str
    node: str
    params: dict[str, Any]
    prompt: str | None
    own_checks: bool
    timeout: float | None
    rerun: str | None = None
    group: str | None = None


class Waiting(Exception):
    """The run needs a person's answer before it can go on. Not a failure: nothing is lost by waiting."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path = path
        self.reason = reason


async def nobody(question: dict[str, Any]) -> dict[str, Any]:
    """Answers no question: for nodes that run where nobody can be asked."""
    raise Waiting("", str(question.get("title") or "a question"))


def _no_descriptor() -> int | None:
    return None


def _nowhere(work: Work) -> Route | None:
    del work
    return None


def _unheard(said: AgentSaid) -> None:
    del said


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


@dataclass(frozen=True, kw_only=True)
class NodeContext:
    """Where a node works, and for whom.

    `key` names this very piece of work for good, also when it is done again after a crash: what it starts elsewhere
    can tell by it that it was asked before. `route` says which agent a piece of work is given to. `hold` gives a
    locked descriptor that a program which is started inherits, so that it is noticed if it outlives us. `session` is
    the agent and the conversation of this work, if it was cut off. `ask` puts a question to a person; `tell` says
    what an agent does.
    """

    project: str
    env: Mapping[str, str]
    run: str = ""
    key: str = ""
    scope: str = ""
    route: Callable[[Work], Route | None] = _nowhere
    pass_env: tuple[str, ...] = ()
    guide: Guide | None = None
    hold: Callable[[], int | None] = _no_descriptor
    session: tuple[str, str] | None = None
    ask: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]] = nobody
    tell: Callable[[AgentSaid], None] = _unheard


@dataclass(frozen=True)
class NodeInfo:
    """What a node's users have to know: whether it takes a prompt, what it needs, which params name a flow that it
    runs or files that it makes, whether a step may (`routed`) or has to (`must_route`) say who it is given to."""

    prompt: str = "forbidden"
    required: tuple[str, ...] = ()
    nested: str | None = None
    routed: bool = False
    makes: tuple[str, ...] = ()
    must_route: bool = False


class NodeKind(Protocol):
    """A module under `nodes/`. `RERUN`: may it be run again after it was cut off? `safe`, `ask` or `never`.

    One that says `INSTANT = True` touches nothing and takes no time: its beginning is not worth a record.
    """

    RERUN: str

    async def run(self, work: Work, context: NodeContext) -> Any: ...


@dataclass(frozen=True)
class Done:
    """A phase or step that is behind us. Only a step that ran another flow is done without a value of its own."""

    status: str
    value: Any = None
    has_value: bool = False
    stop: bool = False


@dataclass(frozen=True)
class Made:
    """A file that a step promised: where, what it is called, what its content has to look like, and was it new."""

    path: str
    name: str | None
    schema: str | None
    required: bool
    is_new: bool = False


class Durable(Protocol):
    """All that the interpreter of flows knows of durability. Another engine implements these and no more.

    Paths name steps, never positions; work is data, so that it can be done elsewhere; running things at once is a
    verb, so that an engine can keep their order its own way.
    """

    def note(self, event: Any) -> None: ...

    def done(self, path: str) -> Done | None: ...

    async def node(self, work: Work, retry: Any) -> Any: ...

    async def fact(self, path: str, place: str, kind: str, subject: str) -> Any: ...

    async def look(self, kind: str, subject: str) -> Any: ...

    async def publish(self, path: str, made: list[Made], inputs: list[str]) -> None: ...

    async def together(
        self, works: Sequence[Callable[[], Awaitable[Any]]], limit: int, on_failure: str
    ) -> list[Any]: ...

    async def pause(self, path: str, seconds: float) -> None: ...

    def limit(self, path: str, seconds: float | None) -> AbstractAsyncContextManager[None]: ...


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


@dataclass(frozen=True)
class Stubs:
    """What the stubs in a host have to know: how to call the hook and the rest of us, and our version."""

    hook: tuple[str, ...]
    handrail: tuple[str, ...]
    version: str


class Recipe(Protocol):
    """How one agent is given our stubs. Decides texts only; the installer reads and writes."""

    def shared(self) -> list[str]: ...

    def owned(self, settings: dict[str, str]) -> dict[str, str]: ...

    def add(self, path: str, text: str) -> str: ...

    def strip(self, path: str, text: str, before: str | None) -> str: ...


class CheckKind(Protocol):
    """A module under `checks/`."""

    async def verify(self, params: Mapping[str, Any], context: CheckContext) -> Finding: ...
