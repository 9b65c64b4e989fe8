"""What a node implements: the work behind a step of a flow."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

from handrail.contracts.executor import AgentSaid
from handrail.contracts.session import Guide
from handrail.settings import Route
from handrail.source.fields import Field, Shape, shape

Own = tuple[str | None, str | None]


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


def _nowhere(group: str | None, own: Own) -> Route | None:
    del group, own
    return None


def _unheard(said: AgentSaid) -> None:
    del said


@dataclass(frozen=True, kw_only=True)
class NodeContext:
    """Where a node works, and for whom.

    `key` identifies this piece of work, also when it is done again after a crash: a program that it starts can
    recognise a second request by it. `route` says which agent gets the work, from its routing group and what the step
    itself says (agent, model). `hold` gives a locked descriptor that a started program inherits, so that a program
    which outlives us is noticed. `session` is the agent and the conversation of this work, if it was interrupted.
    `ask` puts a question to a person; `tell` reports what an agent does.
    """

    project: str
    env: Mapping[str, str]
    run: str = ""
    key: str = ""
    scope: str = ""
    route: Callable[[str | None, Own], Route | None] = _nowhere
    pass_env: tuple[str, ...] = ()
    guide: Guide | None = None
    hold: Callable[[], int | None] = _no_descriptor
    session: tuple[str, str] | None = None
    ask: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]] = nobody
    tell: Callable[[AgentSaid], None] = _unheard


@dataclass(frozen=True, kw_only=True)
class Node:
    """What a node says about itself. Problems at load, the JSON Schema and the reference page come from this.

    `others` says what becomes of params that are not declared: `refused` is an error, `ignored` passes over them
    unless they look like a slip, `used` means that the node takes any. `outputs`: name → what it holds; with
    `open_outputs` there may be more. `routed`: a step may say `routingGroup`; `must_route`: it has to, unless it has
    one of these params. `makes` names params that hold paths of files which the node promises. `rerun`: may it be run
    again after it was interrupted? `instant`: it touches nothing and takes no time, so its beginning is not recorded.
    """

    about: str
    params: tuple[Field, ...] = ()
    others: Literal["refused", "ignored", "used"] = "refused"
    outputs: Mapping[str, str] = field(default_factory=dict)
    open_outputs: bool = False
    prompt: Literal["forbidden", "optional", "required"] = "forbidden"
    routed: bool = False
    must_route: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    rerun: Literal["safe", "ask", "never"] = "safe"
    instant: bool = False

    @cached_property
    def shape(self) -> Shape:
        return shape("params", self.about, *self.params)

    @cached_property
    def nests(self) -> str | None:
        """The param that names a flow which this node runs, if there is one."""
        return next((param.name for param in self.params if param.names == "flow"), None)


class NodeKind(Protocol):
    """A module under `nodes/`. One that nests a flow needs no `run`: the interpreter runs the flow."""

    NODE: Node

    async def run(self, work: Work, context: NodeContext) -> Any: ...
