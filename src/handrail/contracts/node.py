"""What a node implements: the work behind a step of a flow."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from handrail.contracts.executor import AgentSaid
from handrail.contracts.session import Guide
from handrail.settings import Route


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
