"""What a kind of check implements: something that Handrail verifies itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class CheckContext:
    """Where a check runs."""

    project: str
    env: Mapping[str, str]


@dataclass(frozen=True)
class Finding:
    """What a check found. `held` is nothing when it could not be run at all."""

    held: bool | None
    detail: str


class CheckKind(Protocol):
    """A module under `checks/`."""

    async def verify(self, params: Mapping[str, Any], context: CheckContext) -> Finding: ...
