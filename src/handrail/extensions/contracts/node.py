"""What a node implements: the work behind a step of a flow, and what the node may use.

A node that changes something outside can tell that in advance (`Preview`), so that a person or a rule can say yes to
exactly that. A node that drives an agent through a workflow uses guided sessions (`Guide`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol

from handrail.base.dataclasses import dataclass, field, replace
from handrail.extensions.contracts.agent import AgentSaid, Stubs
from handrail.extensions.registry import Registry
from handrail.settings.routes import Route
from handrail.settings.secrets import DEFAULT_RULES, SecretRules
from handrail.settings.sections import AcpAgents, ApprovalRule
from handrail.source.field_checks import usable
from handrail.source.fields import Field, Shape, shape


@dataclass(frozen=True, kw_only=True)
class GuideStatus:
    """The state of a workflow in an agent's conversation. `message` is the next prompt for the agent.

    `same_failures` counts how often in a row the exit checks failed in the same way, and `warnings` how often the agent
    was told so. `denied` are the denied calls so far, as (tool, reason). `is_denied`: the workflow is done, but every
    attempt at its work was denied, and no phase had an exit check that holds. `asks` is the form for a person that the
    session waits for, if it does.
    """

    session: str
    status: str
    steps: int
    status_line: str | None
    message: str
    summaries: list[dict[str, str]]
    same_failures: int = 0
    warnings: int = 0
    denied: tuple[tuple[str, str], ...] = ()
    is_denied: bool = False
    asks: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class GuideNews:
    """Something that happened in a guided session. `number` counts all events of the session, from 1.

    | kind | what happened; `text` |
    | entered | a phase began; the summary of the phase before it |
    | looped | the innermost workflow was started over |
    | went-to | a person moved the session to another phase; the reason |
    | blocked | the agent cannot go on, and a person is asked; why |
    | asked-to-cancel | the agent asks a person to cancel the workflow; why |
    | answered | a person answered; the note for the agent |
    | check-failed | the phase could not be left; which checks failed, and why |
    | check-held | the checks of the phase hold; which |
    | sent-on | the agent tried to stop and was told to continue |
    | let-go | the agent stopped too often without progress; the reason |
    | finished | the workflow is done; the summary of its last phase |
    | cancelled | the workflow was cancelled; the reason |

    `phase` is the phase where it happened. `place` is its place in the workflow, as in the status line. `by` is who did
    it: `person`, `script`, `agent:NAME`, `run:ID`, or empty.
    """

    session: str
    number: int
    time: float
    kind: str
    phase: str
    place: str
    text: str
    by: str = ""


class Guide(Protocol):
    """Starts guided sessions in an agent's conversation and returns their state."""

    idle_stops: int
    stubs: Stubs

    def begin(self, workflow: str, task: str, host: tuple[str, str], run: str) -> GuideStatus: ...

    def standing(self, host: tuple[str, str]) -> GuideStatus | None: ...

    def answer(self, host: tuple[str, str], values: Mapping[str, Any]) -> None:
        """What a person says to what the session asks."""

    def is_heard(self, host: tuple[str, str]) -> bool:
        """True if the agent's hooks have called Handrail in this conversation. Without them nothing is enforced."""

    def thread(self, host: tuple[str, str]) -> str | None:
        """The agent's own id of the conversation, to continue it; None if the agent has not told one."""

    def set_thread(self, host: tuple[str, str], thread: str) -> None:
        """Record the agent's own id of the conversation."""

    def follow(self, host: tuple[str, str]) -> Callable[[], list[GuideNews]]:
        """A function that returns what happened in the session since its last call. The first call returns all."""


Own = tuple[str | None, str | None]


class NodeError(Exception):
    """A node failed. A `transient` failure may be retried, but not before `resets_at` if that is set.

    `output` is what its program printed; empty if that is not known.
    """

    def __init__(
        self, code: str, message: str, *, transient: bool = True, resets_at: float | None = None, output: str = ""
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.transient = transient
        self.resets_at = resets_at
        self.output = output


class LastingError(NodeError):
    """A node failed, and to try it again would not help. `hint`: what to do, in the message as well."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(code, f"{message}; {hint}" if hint else message, transient=False)
        self.hint = hint


@dataclass(frozen=True, kw_only=True)
class Work:
    """One node to run: its path, name, params and prompt.

    `own_checks`: the step has no `expect`, so the node checks its own result. `rerun` is the step's policy for an
    interrupted node; None if the node decides. `reads` are the outputs that the flow uses, if the node was interrupted.
    `approved` is the state that a person or a rule approved, see `Preview.state`; None if nobody was asked. `fallback`
    has the `deadline` of its question and the `default` that is taken then; it is empty if the question has none.
    """

    path: str
    node: str
    params: dict[str, Any]
    prompt: str | None
    own_checks: bool
    timeout: float | None
    rerun: str | None = None
    group: str | None = None
    reads: tuple[str, ...] = ()
    approved: Mapping[str, str] | None = None
    fallback: Mapping[str, Any] = field(default_factory=dict)


class Waiting(Exception):
    """The run needs a person's answer before it can continue. This is not a failure."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path = path
        self.reason = reason


class Exhausted(Exception):
    """The run has used all that it may use. This is not a failure: it can be resumed with a higher bound."""


class FormAnswer(NamedTuple):
    """A person's answer to a form, and when it was given: in seconds since 1970, 0 if it is not known."""

    values: dict[str, Any]
    at: float


class DefaultAnswer(FormAnswer):
    """The default of a question that nobody answered before its deadline."""


async def _ask_nobody(question: dict[str, Any]) -> FormAnswer:
    """An `ask` that always raises `Waiting`: for nodes that run where nobody can be asked."""
    raise Waiting("", str(question.get("title") or "a question"))


async def _sleep(seconds: float) -> None:
    import asyncio

    await asyncio.sleep(seconds)


def _nothing(*_: Any) -> None:
    """What a context does if nobody needs it."""


def _remember_nothing(_name: str, value: Any) -> Any:
    return value


LITTER = ".handrail-"
"""The names of temporary files in a project begin with this."""


@dataclass(frozen=True, kw_only=True)
class NodeContext:
    """Where a node runs, and what it may use.

    `key` identifies this piece of work. It stays the same after a crash, so a program can recognise a repeated
    request by it. `route` returns the agent for a routing group and the step's own (agent, model). `hold` returns a
    locked descriptor that a started program inherits; it shows whether the program outlives us. `session` is the
    agent and its conversation if the step has begun one. `failure` is the (code, message) of the last attempt, if
    it failed; `failures` is how many have failed. `ask` asks a person; `tell` reports what an agent does. `rest`
    waits for some seconds; in a resumed run it only waits for the rest of them. `remember` records a value under a
    name and returns it; until the node has finished, it returns the value that was recorded first, also after a crash.
    `recall` returns what was recorded under a name; None if nothing was.
    `secrets` says which variables of `env` hold secrets. A node calls `litter` before it creates a temporary file in
    the project, whose name begins with `LITTER`: if the node is killed, the run removes the file later. `usd_left`
    returns how many dollars the run may still use; None if that has no bound. `rules` approve effects in place of a
    person. `keeps_logins`: agents get the person's logins of git and of forges. `acp` are the agents of the settings.
    `project` is where the node works: the project, or the same folder in the worktree of the run. `definitions` is the
    folder with the definitions; the same folder if it is empty. `check` is the command in the settings that checks the
    project; it is empty if there is none. `notice` tells people something once, in the log of the run.
    `show` gets the output of a program while it runs, for people who look at the run. `registry` has all agents, and
    the schemas of plugins.
    """

    project: str
    env: Mapping[str, str]
    definitions: str = ""
    run: str = ""
    key: str = ""
    scope: str = ""
    route: Callable[[str | None, Own], Route | None] = _nothing
    pass_env: tuple[str, ...] = ()
    acp: AcpAgents = field(default_factory=dict)
    secrets: SecretRules = DEFAULT_RULES
    guide: Guide | None = None
    hold: Callable[[], int | None] = _nothing
    session: tuple[str, str] | None = None
    failure: tuple[str, str] | None = None
    failures: int = 0
    ask: Callable[[dict[str, Any]], Awaitable[FormAnswer]] = _ask_nobody
    tell: Callable[[AgentSaid], None] = _nothing
    rest: Callable[[float], Awaitable[None]] = _sleep
    remember: Callable[[str, Any], Any] = _remember_nothing
    recall: Callable[[str], Any] = _nothing
    litter: Callable[[str], None] = _nothing
    usd_left: Callable[[], float | None] = _nothing
    check: tuple[str, ...] = ()
    rules: tuple[ApprovalRule, ...] = ()
    keeps_logins: bool = False
    notice: Callable[[str], None] = _nothing
    show: Callable[[bytes], None] = _nothing
    registry: Registry = field(default_factory=Registry)


@dataclass(frozen=True)
class OutputVerdict:
    """How the outputs of a node say that what it looked at failed, although the node did not.

    `output` is the path of the output that decides, such as `parsed.ok`, and `good` is its value if nothing failed.
    `told` are the outputs that say what failed. `must_be_used`: it counts in a repeat only if `until` uses the step,
    since the value may mean something else.
    """

    output: str
    good: Any
    told: tuple[str, ...]
    must_be_used: bool = False


@dataclass(frozen=True, kw_only=True)
class Node:
    """The declaration of a node. Problems at load, the JSON Schema and the reference page come from it.

    `others` says what happens to params that are not declared: `refused` is an error, `ignored` skips them unless
    they look like a typing error, `used` means that the node takes any. `outputs`: name → what it holds; with
    `open_outputs` there may be more. `members` says from the params of a step which outputs it has, and the members
    of each (None: any); params that only the run knows are `Later`. `routed`: a step may have `routingGroup`;
    `must_route`: it has to, unless it has one of these params; `can_lack_agent`: it also works without an agent.
    `makes` are the params with paths of files that the node promises, `schemas` the schemas of these files, if they are
    not what the names of the files imply. `published` is the output with the file or
    the files that the node wrote where its params do not name them; they are published, too. `summary` is the output
    whose text becomes the summary of the run. `rerun`: whether the node may run again after it was interrupted. With
    `never`, the run fails then, unless the node has outputs for this case: `unknown`. `instant`: it has no side effects
    and takes no time, so its start is not recorded. `stops` is the output that ends the flow if it is true; its outcome
    is then `stopped`, unless the step says another one. `where`: the node changes something outside, and its module has
    `preview`, which says in advance what; rules can ask for these names. None if the node cannot be proposed. `verdict`
    is how its outputs say that something failed. `is_harmless`: it only reads, computes, waits or asks a person. A flow
    with any other node runs only in a project that a person trusts. `agent` is the agent that it always calls, if it is
    a node for one agent. `asks` are the ids of the fields of the question that it asks, empty if its params say them;
    None if it asks nothing.
    """

    about: str
    params: tuple[Field, ...] = ()
    others: Literal["refused", "ignored", "used"] = "refused"
    outputs: Mapping[str, str] = field(default_factory=dict)
    open_outputs: bool = False
    members: Callable[[Mapping[str, Any]], Mapping[str, Collection[str] | None]] | None = None
    prompt: Literal["forbidden", "optional", "required"] = "forbidden"
    routed: bool = False
    must_route: tuple[str, ...] = ()
    can_lack_agent: bool = False
    makes: tuple[str, ...] = ()
    schemas: Mapping[str, str] = field(default_factory=dict)
    published: str | None = None
    summary: str | None = None
    rerun: Literal["safe", "ask", "never"] = "safe"
    unknown: Mapping[str, Any] | None = None
    instant: bool = False
    stops: str | None = None
    where: tuple[str, ...] | None = None
    verdict: OutputVerdict | None = None
    is_harmless: bool = False
    agent: str | None = None
    asks: tuple[str, ...] | None = None

    @property
    def calls_agent(self) -> bool:
        return self.routed or self.prompt == "required"

    @cached_property
    def shape(self) -> Shape:
        return shape("params", self.about, *self.params)

    @cached_property
    def nests(self) -> str | None:
        """The param with the name of the flow that this node runs; None if it runs no flow."""
        return next((param.name for param in self.params if param.names == "flow"), None)


class NodeKind(Protocol):
    """A module in `steps/nodes/`. A node that nests a flow needs no `run`: the interpreter runs the flow."""

    @property
    def NODE(self) -> Node: ...  # noqa: N802 - the name of a constant in a module

    async def run(self, work: Work, context: NodeContext) -> Any: ...


@dataclass(frozen=True)
class OneNode:
    """One of several nodes in a module. It has what the module of a single node has. Its row is `MODULE:NAME`."""

    NODE: Node
    run: Callable[[Work, NodeContext], Coroutine[Any, Any, Any]]
    preview: Callable[[Work, NodeContext], Awaitable[Preview]] | None = None
    changed: Callable[[Work, NodeContext], Awaitable[list[str]]] | None = None


def with_checked_params(kind: NodeKind) -> NodeKind:
    """The same node, whose functions get params that were checked against its fields. They raise `NodeError`."""
    node = getattr(kind, "NODE", None)
    if not isinstance(node, Node) or node.nests is not None:
        return kind

    def checked(name: str) -> Any:
        call = getattr(kind, name, None)

        async def called(work: Work, context: NodeContext) -> Any:
            assert call is not None
            try:
                work = replace(work, params=usable(node.params, work.params)) if node.params else work
            except ValueError as error:
                raise NodeError("params", f"`{work.node}`: {error}", transient=False) from error
            return await call(work, context)

        return None if call is None else called

    return OneNode(node, checked("run"), checked("preview"), checked("changed"))


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
    """A module in `steps/nodes/` whose `NODE` has `where`. `preview` only reads."""

    async def preview(self, work: Work, context: NodeContext) -> Preview: ...


class ApprovalKind(NodeKind, Protocol):
    """A module in `steps/nodes/` that asks for a yes. The forms that it asks have its name as their id."""

    async def changed(self, work: Work, context: NodeContext) -> list[str]:
        """The names of what has changed since its open question was asked; empty if nothing has. It only reads."""


def refuse_changed(work: Work, now: Mapping[str, str]) -> None:
    """Raise `NodeError` if the state is not the one that was approved. Called right before the effect."""
    if work.approved is None:
        return
    names = [name for name, value in now.items() if work.approved.get(name) != value]
    if names:
        listed = ", ".join(f"`{name}`" for name in names)
        raise NodeError(CHANGED, f"this has changed since it was approved: {listed}", transient=False)
