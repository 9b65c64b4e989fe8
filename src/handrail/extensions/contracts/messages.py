"""The requests of a host and the answers of Handrail, as tagged types.

They are dictionaries at run time. Modules on the hook's path import this module only for type checking, so it costs
nothing there. `event` is the tag of a request, `kind` the tag of an answer.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class CallArguments(TypedDict):
    """What a tool call does, as far as its arguments show. Paths are absolute."""

    runs: str | None
    reads: tuple[str, ...]
    writes: tuple[str, ...]


class RequestOrigin(TypedDict):
    """Where a request comes from. If a host names `project` itself, its conversation is the id of the session.

    `message` identifies the message of the model that has a call, if the host tells it and may ask about several calls
    of one message before the first of them runs.
    """

    conversation: str
    cwd: str
    transcript: str | None
    project: NotRequired[str]
    message: NotRequired[str]


class ToolCall(RequestOrigin):
    """A tool is about to be called. `is_harmless`: the tool changes nothing, so a whitelist need not name it.

    `is_last`: the conversation ends with this call, and no stop hook can keep it going. `also`: the names of other
    tools whose work the call does, too; it is denied if one of them is. `runs_subagent`: a subagent works until the
    host reports its end, and the host does not tell its calls apart. `takes_context`: the host can pass a text to the
    model together with an allowed call.
    """

    event: Literal["tool"]
    tool: str
    aliases: tuple[str, ...]
    also: NotRequired[tuple[tuple[str, ...], ...]]
    call: CallArguments
    is_harmless: bool
    is_last: NotRequired[bool]
    takes_context: NotRequired[bool]
    is_subagent: bool
    runs_subagent: NotRequired[bool]


class StepCall(RequestOrigin):
    """`workflow_step` is about to be called.

    `installed` is given if other servers can have the name of ours: a file in the project and the keys of our entry.
    If the entry is not as Handrail installed it, the call is a call of a foreign tool with these `aliases`. `call_id`
    is the host's id of the call, if the server has to know that a hook saw it: see `StepCaller`. `call` is that id, if
    the transcript shows which calls are in one message of the model: see `Host`.
    """

    event: Literal["step"]
    tool: str
    action: str
    call_id: NotRequired[str]
    call: NotRequired[str]
    is_subagent: bool
    installed: NotRequired[tuple[str, ...]]
    aliases: NotRequired[tuple[str, ...]]


class PromptGiven(RequestOrigin):
    """A turn begins. `starts` are the arguments of a start command, if the prompt is one.

    `by_person` is False for a notification; `was_interrupted` says that a person interrupted the turn before it.
    `turn` is the host's id of the turn: a notification in the middle of a turn has the id of that turn.
    """

    event: Literal["prompt"]
    starts: str | None
    by_person: bool
    was_interrupted: bool
    turn: NotRequired[str | None]


class CommandTyped(RequestOrigin):
    """A person typed one of Handrail's commands in the host."""

    event: Literal["command"]
    name: Literal["start", "cancel"]
    arguments: str
    turn: NotRequired[str | None]


class ConversationOpened(RequestOrigin):
    """A conversation was resumed, compacted or forked from another; or it is about to be compacted (`compacting`).

    `waits`: what a hook adds now does not stay in the history, so the agent is told at its next prompt, as it always is
    after `compacting`.
    """

    event: Literal["begin"]
    source: Literal["resume", "compact", "compacting", "fork"]
    waits: NotRequired[bool]


class ModelCalled(RequestOrigin):
    """The model is about to be called. What is added to the call is not kept in the history.

    The host says what it knows about the history that the model gets. A plugin that stays loaded gives `told`: the
    marks that it stored there together with texts of Handrail. A hook gives `messages`, the length of the history: one
    that became shorter was compacted or rewound.
    """

    event: Literal["model"]
    told: NotRequired[tuple[str, ...]]
    messages: NotRequired[int]


class SubagentStarted(RequestOrigin):
    event: Literal["subagent"]


class SubagentEnded(RequestOrigin):
    """A call with `runs_subagent` ended."""

    event: Literal["subagent-end"]


class AgentStops(RequestOrigin):
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


class BranchPoint(TypedDict):
    """A place in a conversation's history where the host stored the state of its session: see `SessionPosition`."""

    session: str
    project: str
    number: int


class BranchChanged(RequestOrigin):
    """A conversation was opened, forked, or is at another place of its history.

    `at` is the last place on the branch that leads there; None if there is none. `foreign` is the state of a workflow
    that another program stored there later; `unread` says why such a state cannot be used.
    """

    event: Literal["branch"]
    at: BranchPoint | None
    foreign: ForeignState | None
    unread: NotRequired[str]


class ForeignState(TypedDict):
    """A workflow that another program, `origin`, began. `path` has the workflow key and the index of each level."""

    origin: str
    workflow: str
    path: tuple[tuple[str, int], ...]
    status: Literal["active", "done", "cancelled"]
    steps: int
    task: str
    task_id: str
    started: float
    told: bool


class NamesAsked(RequestOrigin):
    """A person types a command and wants to know which workflows can be started."""

    event: Literal["names"]


HostRequest = (
    ToolCall
    | StepCall
    | PromptGiven
    | CommandTyped
    | ConversationOpened
    | ModelCalled
    | SubagentStarted
    | SubagentEnded
    | AgentStops
    | BranchChanged
    | NamesAsked
)


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
    """The text for the agent, the title of its conversation, the status line; None if there is nothing new.

    `mark` is given if `text` has the context text of the phase: a plugin stores it in the history together with the
    text. After a start, `opening` is the first message of the workflow alone.
    """

    kind: Literal["context"]
    text: str | None
    title: str | None
    status_line: str | None
    notice: str | None
    mark: NotRequired[str]
    opening: NotRequired[str]


class Held(TypedDict):
    """Handrail handled a command that a person typed. The person sees `text`, and the model gets no turn.

    `again` are the arguments with which the command would be carried out all the same, if there are any.
    """

    kind: Literal["held"]
    text: str
    again: NotRequired[str]


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


class WorkflowNames(TypedDict):
    """The workflows that a person can start: what is typed → its name."""

    kind: Literal["names"]
    names: dict[str, str]


HostAnswer = Verdict | Context | Held | StopPolicy | Notice | WorkflowNames


class SessionPosition(TypedDict):
    """Where a conversation's session is, for a plugin that stays loaded.

    The first three lead back to this place: they are a `BranchPoint`, which the plugin stores in the host's history if
    the place `is_new`. `mark` changes with every context text; a `workflow_step` that is not refused tells this text.
    """

    session: str
    project: str
    number: int
    mark: str
    status: str
    status_line: str | None
    title: str
    is_new: bool


class StepCaller(TypedDict):
    """Who calls `workflow_step`: the conversation, whether it is a subagent, and the host's id of the call.

    `cwd` is the folder in which the agent works; empty if the host does not tell. `needs_hook`: the host may skip hooks
    without a word, so the workflow moves only if a hook saw this call.
    """

    conversation: str
    is_subagent: bool
    call: str
    cwd: NotRequired[str]
    needs_hook: NotRequired[bool]


class GateRules(TypedDict):
    """The gate of a stop as data: the tool lists of the phase, and the text of a denial."""

    deny: list[str] | tuple[str, ...] | None
    allow: list[str] | tuple[str, ...] | None
    template: str
    values: dict[str, str]


class StateData(TypedDict):
    """The state of a session as JSON; see `guided.sessions.machine.State`."""

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
    failure: str
    same_failures: int
    same_limit: int
    guidance: NotRequired[str]
    folder: NotRequired[str]
    question: NotRequired[str]
    exchanges: NotRequired[int]


class CardTexts(TypedDict):
    """What an agent is told about the current stop, and its gate. `asked` is for the person that it waits for."""

    gate: GateRules | None
    statusLine: str | None
    title: str
    context: str | None
    brief: str | None
    reminder: str | None
    farewell: str | None
    asked: NotRequired[str]


class CardBody(CardTexts):
    """What hooks need about the current stop."""

    session: str
    project: str
    state: StateData


class Card(CardBody):
    """A card as it is stored next to the journal. `number`, `end`, `last` and `mark` say which records it includes."""

    format: int
    number: int
    end: int
    last: int
    mark: str
