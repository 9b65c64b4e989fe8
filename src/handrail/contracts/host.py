"""What an agent implements so that it can call Handrail: a module `agents/NAME/host.py` and a row in the registry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict

if TYPE_CHECKING:
    from handrail.contracts.messages import Answer, Call, Request, StepCaller

Level = Literal["hard", "partial", "none"]


@dataclass(frozen=True)
class Stubs:
    """What the stubs in a host have to know: how to call the hook and the rest of Handrail, and the version."""

    hook: tuple[str, ...]
    handrail: tuple[str, ...]
    version: str


class Recipe(Protocol):
    """How one agent is given our stubs. Decides texts only; the installer reads and writes.

    A file in whatever format the agent uses is edited by the recipe alone. `ValueError` if that cannot be done.
    """

    def shared(self) -> list[str]:
        """Files that belong to others and get entries of ours."""
        ...

    def owned(self, texts: Mapping[str, str | None]) -> dict[str, str]:
        """Files that are ours alone. `texts` are the shared files without our entries; None if there is none."""
        ...

    def add(self, path: str, text: str | None) -> str:
        """The text of a shared file with our entries. It has none of them yet."""
        ...

    def strip(self, path: str, text: str, before: str | None) -> str | None:
        """The text without our entries, None if nothing is left; `before` is how it was when they were added."""
        ...


class Commands(TypedDict):
    """What a person types in the host to start a workflow and to cancel one."""

    start: str
    cancel: str


class Host(Protocol):
    """How an agent calls Handrail. What runs at every tool call imports next to nothing.

    `LINKS`: conversations are found by a link; otherwise the host names project and session itself. `ENFORCES` says
    for each thing that Handrail holds an agent to how well this host can: see `docs/reference/hosts.md`.
    """

    COMMANDS: Commands
    ENFORCES: Mapping[str, Level]
    LINKS: bool

    def request(self, data: Mapping[str, Any]) -> Request | None:
        """The host's message in our words; None for an event that means nothing to us."""
        ...

    def reply(self, data: Mapping[str, Any], request: Request, answer: Answer) -> Mapping[str, Any] | None:
        """Our answer in the host's words; None if there is nothing to say."""
        ...

    def conversation(self, data: Mapping[str, Any]) -> str:
        """The conversation that a message is about, also one that `request` does not know, such as a status line."""
        ...

    def aliases(self, tool: str) -> tuple[str, ...]:
        """The other names of a tool: those of our vocabulary, and those that workflows for other agents use."""
        ...

    def arguments(self, tool: str, given: Mapping[str, Any], cwd: str) -> Call:
        """What a call runs, reads and writes, as far as its arguments show."""
        ...

    def protected(self, env: Mapping[str, str], home: str, project: str) -> tuple[str, ...]:
        """Files and folders that decide whether our hooks run: no agent may change them while it is held."""
        ...

    def was_told(self, history: bytes, call: str) -> bool:
        """True if the result of a call of `workflow_step` is in the history of a conversation."""
        ...

    def step_caller(self, arguments: Mapping[str, Any]) -> StepCaller:
        """Who calls `workflow_step`, from what `reply` put into its arguments; no conversation if it put nothing."""
        ...

    def recipe(self, env: Mapping[str, str], project: str | None, stubs: Stubs) -> Recipe:
        """How the stubs get into the agent, for the user or for one project."""
        ...


class Market(Protocol):
    """What the module of a host has beside that if the agent knows marketplaces of plugins."""

    def marketplace(self, stubs: Stubs) -> dict[str, str]:
        """A plugin and a marketplace that people can point the agent at: path → content."""
        ...

    def marketplace_steps(self, folder: str) -> list[str]:
        """What a person types to use it."""
        ...
