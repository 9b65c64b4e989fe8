"""What an import found, and what became of it. Pure."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from handrail.source.dataclasses import dataclass

Result = Literal["taken", "already", "works", "left"]
"""`taken` over into Handrail, taken over `already` before, `works` unchanged where it is, or `left` alone."""
RESULTS: dict[Result, str] = {
    "taken": "taken over",
    "already": "already",
    "works": "works as it is",
    "left": "not taken over",
}


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing that another tool left: what it is, where, what became of it and why. `command` goes on with it."""

    kind: str
    name: str
    path: str
    result: Result
    note: str
    scope: str | None = None
    command: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "name": self.name,
            "scope": self.scope,
            "path": self.path,
            "result": self.result,
            "note": self.note,
            "command": self.command,
        }


def counts(items: list[Item]) -> dict[Result, int]:
    """How many things have each result."""
    found = Counter(item.result for item in items)
    return {result: found[result] for result in RESULTS}
