"""What a host asks and what Handrail answers, as tagged types.

They are dictionaries at run time, so modules on the hook's path import this module for type checking only and pay
nothing. `event` tells the requests apart, `kind` the answers.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class Call(TypedDict):
    """What a tool call does, as far as its arguments show. Paths are absolute."""

    runs: str | None
    reads: tuple[str, ...]
    writes: tuple[str, ...]


class _Asked(TypedDict):
    """What every request has. A host that names `project` itself calls the session by the conversation's name."""

    conversation: str
    cwd: str
    transcript: str | None
    project: NotRequired[str]


class ToolCall(_Asked):
    """A tool is about to be called. `is_lookup`: the call only shows what another tool looks like."""

    event: Literal["tool"]
    tool: str
    aliases: tuple[str, ...]
    call: Call
    is_lookup: bool
    is_subagent: bool


class StepCall(_Asked):
    """`workflow_step` is about to be called."""

    event: Literal["step"]
    tool: str
    action: str
    is_subagent: bool


class PromptGiven(_Asked):
    """A turn begins. `starts` are the arguments of a start command, if the prompt is one.

    `by_person` is False for a notification; `was_interrupted` says that a person interrupted the turn before it.
    """

    event: Literal["prompt"]
    starts: str | None
    by_person: bool
    was_interrupted: bool


class CommandTyped(_Asked):
    """A person typed one of Handrail's commands in the host."""

    event: Literal["command"]
    name: Literal["start", "cancel"]
    arguments: str


class ConversationOpened(_Asked):
    """A conversation goes on: it was resumed, compacted or forked from another."""

    event: Literal["begin"]
    source: Literal["resume", "compact", "fork"]


class SubagentStarted(_Asked):
    event: Literal["subagent"]


class AgentStops(_Asked):
    """The agent wants to end its turn. `hands_off`: work goes on without it, or a person's cancel waits."""

    event: Literal["stop"]
    hands_off: bool
    was_aborted: bool
    has_progress: bool | None


Request = ToolCall | StepCall | PromptGiven | CommandTyped | ConversationOpened | SubagentStarted | AgentStops


class Verdict(TypedDict):
    """Whether a call is allowed; if not, why. `rule` names what decided."""

    kind: Literal["verdict"]
    allow: bool
    reason: str | None
    tool: str
    rule: str


class Context(TypedDict):
    """What the agent is told, the title its conversation gets, the status line; None: nothing new."""

    kind: Literal["context"]
    text: str | None
    title: str | None
    status_line: str | None
    notice: str | None


class Held(TypedDict):
    """A command that a person typed ends here, with this text for the person; the model gets no turn."""

    kind: Literal["held"]
    text: str


class StopPolicy(TypedDict):
    """What happens at a stop: `send_on` is for the agent, `let_go` and `farewell` are for the person."""

    kind: Literal["stop"]
    send_on: str | None
    let_go: str | None
    farewell: str | None


class Notice(TypedDict):
    """Something of ours failed where no verdict is needed; for the person."""

    kind: Literal["notice"]
    text: str


Answer = Verdict | Context | Held | StopPolicy | Notice


class StepCaller(TypedDict):
    """Who calls `workflow_step`: a conversation, perhaps a subagent of it, and the host's own name for the call."""

    conversation: str
    is_subagent: bool
    call: str


class GateRules(TypedDict):
    """The gate of a stop as data: the lists of the phase, and how a denial is worded."""

    deny: list[str] | tuple[str, ...] | None
    allow: list[str] | tuple[str, ...] | None
    template: str
    values: dict[str, str]


class StateData(TypedDict):
    """The state of a session as JSON has it; see `sessions.machine.State`."""

    status: str
    at: int
    steps: int
    plan: str
    task: str
    task_id: str
    started: float
    cancel_asked: bool
    idle_stops: int
    told: bool
    summaries: list[list[str]]
    idle_limit: int
    reminders: int
    sent_on: int
    checked: str


class CardBody(TypedDict):
    """What hooks need to know about the current stop."""

    session: str
    project: str
    state: StateData
    gate: GateRules | None
    statusLine: str | None
    title: str
    context: str | None
    brief: str | None
    reminder: str | None
    farewell: str | None


class Card(CardBody):
    """A card as it lies beside the journal. `number`, `end`, `last` and `mark` say how far it has read the journal."""

    format: int
    number: int
    end: int
    last: int
    mark: str
