"""What an engine implements: durability for the interpreter of flows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from handrail.contracts.check import Finding
from handrail.contracts.node import Work


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

    async def check(self, kind: str, params: Mapping[str, Any]) -> Finding: ...

    async def look(self, kind: str, subject: str) -> Any: ...

    async def publish(self, path: str, made: list[Made], inputs: list[str]) -> None: ...

    async def together(
        self, works: Sequence[Callable[[], Awaitable[Any]]], limit: int, on_failure: str
    ) -> list[Any]: ...

    async def pause(self, path: str, seconds: float) -> None: ...

    def limit(self, path: str, seconds: float | None) -> AbstractAsyncContextManager[None]: ...
