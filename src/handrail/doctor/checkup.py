"""The result of one check of `handrail doctor`. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["ok", "warning", "error", "skipped"]


@dataclass(frozen=True)
class Checkup:
    """What was found, and what to do about it. `id` is stable."""

    id: str
    status: Status
    message: str
    fix: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "status": self.status, "message": self.message, "fix": self.fix}


def is_ok(found: list[Checkup]) -> bool:
    """True if no check found an error."""
    return all(one.status != "error" for one in found)
