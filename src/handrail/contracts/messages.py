"""The requests of a host and the answers of Handrail, as tagged types.

They are dictionaries at run time. Modules on the hook's path import this module only for type checking, so it costs
nothing there. `event` is the tag of a request, `kind` the tag of an answer.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class Call(TypedDict):
    """What a tool call does, as far as its arguments show. Paths are absolute."""

    runs: str | None
    reads: tuple[str, ...]
    writes: tuple[str, ...]


class _Asked(TypedDict):
    """What every request has. If a host names `project` itself, its conversation is the id of the session."""

    conversation: str
    cwd: str
    transcript: str | None
    project: NotRequired[str]


class ToolCall(_Asked):
    """A tool is about to be called. `is_harmless`: the tool changes nothing, so a whitelist need not name it.

    `is_last`: the conversation ends with this call, and no stop hook can keep it going. `takes_context`: the host can
    pass a text to the model together with an allowed call.
    """

    event: Literal["tool"]
    tool: str
    aliases: tuple[str, ...]
    call: Call
    is_harmless: bool
    is_last: NotRequired[bool]
    takes_context: NotRequired[bool]
    is_subagent: bool


class StepCall(_Asked):
    """`workflow_step` is about to be called.

    `installed` is given if other servers can have the name of ours: a file in the project and the keys of our entry.
    If the entry is not as Handrail installed it, the call is a call of a foreign tool with these `aliases`.
    """

    event: Literal["step"]
    tool: str
    action: str
    is_subagent: bool
    installed: NotRequired[tuple[str, ...]]
    aliases: NotRequired[tuple[str, ...]]


class PromptGiven(_Asked):
    """A turn begins. `starts` are the arguments of a start command, if the prompt is one.

    `by_person` is False for a notification; `was_interrupted` says that a person interrupted the turn before it.
    `turn` is the host's id of the turn: a notification in the middle of a turn has the id of that turn.
    """

    event: Literal["prompt"]
    starts: str | None
    by_person: bool
    was_interrupted: bool
    turn: NotRequired[str | None]


class CommandTyped(_Asked):
    """A person typed one of Handrail's commands in the host."""

    event: Literal["command"]
    name: Literal["start", "cancel"]
    arguments: str
    turn: NotRequired[str | None]


class ConversationOpened(_Asked):
    """A conversation was resumed, compacted or forked from another. `compacting`: it is about to be compacted."""

    event: Literal["begin"]
    source: Literal["resume", "compact", "compacting", "fork"]


class SubagentStarted(_Asked):
    event: Literal["subagent"]


class AgentStops(_Asked):
    """The agent wants to end its turn. `hands_off`: a cancel waits for a person. `awaits`: ids of background work.

    `cap`: how often the host lets us send the agent on after one prompt, if it has such a limit. `was_sent_on` is then
    given, too: False at the first stop after a prompt.
    """

    event: Literal["stop"]
    awaits: tuple[str, ...]
    hands_off: bool
    was_aborted: bool
    has_progress: bool | None
    cap: NotRequired[int]
    was_sent_on: NotRequired[bool]


Request = ToolCall | StepCall | PromptGiven | CommandTyped | ConversationOpened | SubagentStarted | AgentStops


class Verdict(TypedDict):
    """Whether a call is allowed, and the reason if it is denied. `rule` names the rule that decided.

    `context` is a text for the model, if it has lost what it was told and the host takes a text with a call.
    """

    kind: Literal["verdict"]
    allow: bool
    reason: str | None
    tool: str
    rule: str
    context: NotRequired[str | None]


class Context(TypedDict):
    """The text for the agent, the title of its conversation, the status line; None if there is nothing new."""

    kind: Literal["context"]
    text: str | None
    title: str | None
    status_line: str | None
    notice: str | None


class Held(TypedDict):
    """Handrail handled a command that a person typed. The person sees `text`, and the model gets no turn."""

    kind: Literal["held"]
    text: str


class StopPolicy(TypedDict):
    """What happens when the agent stops. `send_on` is a text for the agent, `let_go` and `farewell` for the person."""

    kind: Literal["stop"]
    send_on: str | None
    let_go: str | None
    farewell: str | None


class Notice(TypedDict):
    """Handrail failed where no verdict is needed. The text is for the person."""

    kind: Literal["notice"]
    text: str


Answer = Verdict | Context | Held | StopPolicy | Notice


class StepCaller(TypedDict):
    """Who calls `workflow_step`: the conversation, whether it is a subagent, and the host's id of the call.

    `cwd` is the folder in which the agent works; empty if the host does not tell.
    """

    conversation: str
    is_subagent: bool
    call: str
    cwd: NotRequired[str]


class GateRules(TypedDict):
    """The gate of a stop as data: the tool lists of the phase, and the text of a denial."""

    deny: list[str] | tuple[str, ...] | None
    allow: list[str] | tuple[str, ...] | None
    template: str
    values: dict[str, str]


class StateData(TypedDict):
    """The state of a session as JSON; see `sessions.machine.State`."""

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
    refused: list[str]
    reminder_limit: int


class CardBody(TypedDict):
    """What hooks need about the current stop."""

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
    """A card as it is stored next to the journal. `number`, `end`, `last` and `mark` say which records it includes."""

    format: int
    number: int
    end: int
    last: int
    mark: str
