"""What an agent implements: a host calls Handrail, and Handrail calls an executor.

Each part is a module of its own, `agents/NAME/host.py` and `executor.py`, and one row in the registry. A third part,
`offline.py`, runs the agent against a scripted model: for `handrail doctor AGENT --probe` and for tests. Its calls and
turns are those of `agents.probe.scripted_model`, a higher layer than this module.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict

from handrail.base.dataclasses import dataclass, field
from handrail.settings.sections import AcpAgent

if TYPE_CHECKING:
    from handrail.extensions.contracts.messages import CallArguments, HostAnswer, HostRequest, StepCaller

Enforcement = Literal["hard", "partial", "none"]


@dataclass(frozen=True)
class Stubs:
    """What the stubs in a host need: the command of the hook, the command of Handrail, and the version.

    `state` and `home` are Handrail's state folder and the user's home, as they are during the installation. Stubs that
    are made for other machines have neither, and use the environment. Stubs with a `conversation` are not
    installed: they are made for one call of the agent, belong to this conversation whatever id the agent gives it, and
    answer even if Handrail is installed, too.
    """

    hook: tuple[str, ...]
    handrail: tuple[str, ...]
    version: str
    state: str = ""
    home: str = ""
    conversation: str = ""


class Recipe(Protocol):
    """How our stubs get into one agent. A recipe only makes texts; the installer reads and writes the files.

    Only the recipe knows the format of the agent's files. It raises `ValueError` if it cannot edit one.
    It may also have these methods; None counts as absent:
    `notes(texts) -> list[str]`: sentences for the person who installs; `texts` as for `owned`.
    `untrusted() -> list[str]`: our hooks that the agent does not run until a person trusts them.
    `switched_off() -> list[str]`: settings of the agent that keep our hooks from running: `FILE: SETTING`.
    `reads: tuple[str, ...]`: the files that `switched_off` reads, if they are not those of `shared`.
    `denied() -> dict[str, str]`: the tools that settings of the agent deny, and where: `FILE: SETTING`.
    `trial(conversation, cwd) -> StubTrial`: how to ask the installed stubs to cancel the workflow of a conversation.
    """

    def shared(self) -> list[str]:
        """Files that belong to others and get our entries."""

    def owned(self, texts: Mapping[str, str | None]) -> dict[str, str]:
        """Files that only we use. `texts` are the shared files without our entries; None if a file does not exist."""

    def kept(self) -> list[str]:
        """Folders that uninstalling leaves, empty, because the agent's running conversations need them."""

    def add(self, path: str, text: str | None) -> str | None:
        """The text of a shared file with our entries added; None if it need not exist. `text` has none of them."""

    def strip(self, path: str, text: str, before: str | None) -> str | None:
        """The text without our entries; None if it is then empty. `before` is the text before they were added."""


@dataclass(frozen=True)
class StubTrial:
    """A harmless message for installed stubs: how they are called, with which further variables, and the message.

    It cancels the workflow of a conversation that does not exist, so a hook in working order says that there is none.
    """

    argv: tuple[str, ...]
    message: str
    env: Mapping[str, str] = field(default_factory=dict)


class Commands(TypedDict):
    """What a person types in the host to start a workflow and to cancel one."""

    start: str
    cancel: str


class Installs(Protocol):
    """What an agent has that Handrail can be installed into: a module of its own, or the module of the host."""

    def recipe(self, env: Mapping[str, str], project: str | None, stubs: Stubs) -> Recipe:
        """The recipe that installs the stubs, for the user or for one project."""


class Host(Protocol):
    """How an agent calls Handrail. Code that runs at every tool call imports almost nothing.

    `LINKS`: a link leads from the conversation to its session; if False, the host names project and session itself.
    `CONVERSATION` is the environment variable with the id of the conversation; None if the host sets none.
    A host that cannot show the person how a workflow ended has `SHOWS_END = False`; the agent is then asked to say it.
    `ENFORCES` says how well this host can enforce each rule; `docs/reference/hosts.md` shows what was measured.
    It may also have these functions:
    `was_told(history: bytes, call: str) -> bool`: True if the history of a conversation contains the result of this
    call of `workflow_step`, if the host tells that a conversation was opened.
    `kept(history: bytes) -> bytes`: what the model can still read, if the history keeps what a compaction took from it.
    `forked_from(history: bytes) -> str | None`: the conversation from which this one was forked, if the history of a
    fork names it and has none of its texts; None if it is no fork.
    `has_messages(history: bytes) -> bool`: False while the history of a fork has no message of a person, if the host
    may write it after the first call.
    `in_one_message(history: bytes, earlier: str, later: str) -> bool | None`: True if the model made both calls in one
    message, if only its transcript shows that; None if that is not written yet.
    """

    COMMANDS: Commands
    CONVERSATION: str | None
    ENFORCES: Mapping[str, Enforcement]
    LINKS: bool

    def request(self, data: Mapping[str, Any], /) -> HostRequest | None:
        """The host's message as one of our requests; None for an event that Handrail does not use."""

    def reply(self, data: Mapping[str, Any], request: HostRequest, answer: HostAnswer, /) -> Mapping[str, Any] | None:
        """Our answer in the host's format; None if the host expects no output."""

    def conversation(self, data: Mapping[str, Any], /) -> str:
        """The conversation of a message. Also works for messages that `request` ignores, such as a status line."""

    def aliases(self, tool: str, /) -> tuple[str, ...]:
        """The other names of a tool: Handrail's own name, and the names that workflows for other agents use."""

    def arguments(self, tool: str, given: Mapping[str, Any], cwd: str, /) -> CallArguments:
        """What a call runs, reads and writes, as far as its arguments show."""

    def protected(self, env: Mapping[str, str], home: str, project: str, /) -> tuple[str, ...]:
        """Files and folders that decide whether our hooks run. No agent may change them while a workflow is active."""

    def step_caller(self, arguments: Mapping[str, Any], meta: Mapping[str, Any], /) -> StepCaller:
        """Who calls `workflow_step`, from what `reply` added to its arguments, or from what the host tells (`_meta`).

        The conversation is `""` if neither names one.
        """


class Market(Protocol):
    """What the module with the recipe has in addition if the agent has marketplaces of plugins."""

    def marketplace(self, stubs: Stubs, /) -> dict[str, str]:
        """The files of a plugin and a marketplace that the agent can install from: path → content."""

    def marketplace_steps(self, folder: str, /) -> list[str]:
        """What a person types to use it."""


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


class Executor(Protocol):
    """A module in `agents/` that Handrail can call. `ENVIRONMENT`: names or patterns of the variables that it needs.

    `folder` is private to the job and removed after it. The reader can still read it in `end`.
    If the agent keeps a record of its conversations, it may have `spent(session, env, since)`: what a conversation used
    since a moment, as the data of `usage`, or None. Handrail needs it if it was killed while the agent worked.
    It may have `lacks(env)`: what is missing besides the program, and what to do, or None.
    For `handrail doctor`, it may have `TESTED`, the versions of the program that were tested, the oldest first, and
    `LOGIN`, the file with its login: the variable that names the folder, the folder below the home, the file's name.
    """

    PROGRAM: str
    ENVIRONMENT: tuple[str, ...]

    def launch(self, job: AgentJob, folder: str, /) -> Launch: ...

    def reader(self, job: AgentJob, folder: str, /) -> AgentReader: ...


URL, PROJECT, PROMPT = "@URL@", "@PROJECT@", "@PROMPT@"
"""Placeholders in options, variables and files: the model's address, the project's folder, the prompt."""
AnyPath: TypeAlias = str | os.PathLike[str]
HomeFiles: TypeAlias = Mapping[str, str]
"""Path below the home → content."""


def filled(text: str, url: str, project: AnyPath) -> str:
    """A text with its placeholders replaced."""
    return text.replace(URL, url).replace(PROJECT, os.fspath(project))


class Offline(Protocol):
    """One agent. `OPTIONS` is its documented headless command line, which prints one JSON line per event.

    If the options do not contain the prompt, it is passed on stdin. `ENVIRONMENT` and `FILES` lead it to the model and
    switch off telemetry and updates; `HOST_FILES` are added or replaced if it works with Handrail installed. `PASSED`
    are variables of the user that it needs. `STEP` is the name with which the model calls `workflow_step`, `NOTE` that
    of the tool `add` of the MCP server `probe`; None if the agent has no MCP servers. `SETTINGS` is the file that
    `loosened` changes.
    """

    PROTOCOL: type[Any]
    OPTIONS: tuple[str, ...]
    ENVIRONMENT: Mapping[str, str]
    FILES: HomeFiles
    HOST_FILES: HomeFiles
    PASSED: tuple[str, ...]
    STEP: str
    NOTE: str | None
    SETTINGS: str

    def write(self, path: AnyPath, text: str, /) -> Any:
        """The call that writes a new file."""

    def edit(self, path: AnyPath, old: str, new: str, /) -> Any:
        """The call that changes a line of a file which was read before."""

    def read(self, path: AnyPath, /) -> Any: ...

    def shell(self, command: str, /) -> Any: ...

    def subagent(self, program: str, task: str, /) -> Any:
        """The call that starts a subagent and waits for it. Its requests take the next turns of the script."""

    def report(self, text: str, /) -> Any:
        """The turn with which a subagent ends."""

    def argv(self, program: str, prompt: str, thread: str | None, home: AnyPath, /) -> list[str]:
        """The command line with which the probe starts it: a new conversation, or one that continues `thread`."""

    def thread(self, output: str, /) -> str | None:
        """The agent's own id of the conversation, from what it printed."""

    def with_server(self, command: list[str], /) -> HomeFiles:
        """Files that add the MCP server `probe`, which this command starts."""

    def with_rewrite(self, home: AnyPath, command: str, /) -> HomeFiles:
        """Files that add a hook which replaces the command of every call of the shell."""

    def loosened(self, text: str, /) -> str:
        """The text of `SETTINGS` if a person switches hooks off."""
