"""All that an extension implements. A kind of check is a module with this one function."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple, Protocol


class CheckContext(NamedTuple):
    """Where a check runs."""

    project: str
    env: Mapping[str, str]


class Finding(NamedTuple):
    """What a check found. `held` is nothing when it could not be run at all."""

    held: bool | None
    detail: str


class NodeError(Exception):
    """A node could not do its work. `transient` failures may be tried again."""

    def __init__(self, code: str, message: str, *, transient: bool = True) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.transient = transient


class Work(NamedTuple):
    """One node to be run: where, which, with what. `own_checks`: the step says nothing, so the node checks itself."""

    path: str
    node: str
    params: dict[str, Any]
    prompt: str | None
    own_checks: bool
    timeout: float | None


class NodeContext(NamedTuple):
    """Where a node works."""

    project: str
    env: Mapping[str, str]


class NodeKind(Protocol):
    """A module under `nodes/`. `RERUN`: may it be run again after it was cut off? `safe`, `ask` or `never`."""

    RERUN: str

    async def run(self, work: Work, context: NodeContext) -> Any: ...


class Durable(Protocol):
    """All that the interpreter of flows knows of durability. Another engine implements these seven and no more."""

    def note(self, event: Any) -> None: ...

    async def node(self, work: Work, retry: Any) -> Any: ...

    async def fact(self, path: str, kind: str, subject: str) -> Any: ...

    async def look(self, kind: str, subject: str) -> Any: ...

    async def together(self, works: list[Any]) -> list[Any]: ...

    def limit(self, path: str, seconds: float | None) -> AbstractAsyncContextManager[None]: ...


class Stubs(NamedTuple):
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
