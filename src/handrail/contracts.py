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


class CheckKind(Protocol):
    """A module under `checks/`."""

    async def verify(self, params: Mapping[str, Any], context: CheckContext) -> Finding: ...
