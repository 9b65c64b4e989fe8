"""What an agent implements so that it can call Handrail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Stubs:
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
