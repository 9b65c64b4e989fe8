"""All that an extension implements. A kind of check is a module with this one function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol


class CheckContext(NamedTuple):
    """Where a check runs."""

    project: str
    env: Mapping[str, str]


class Finding(NamedTuple):
    """What a check found. `held` is nothing when it could not be run at all."""

    held: bool | None
    detail: str


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
