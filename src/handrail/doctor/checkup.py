"""The result of one check of `handrail doctor`, and what is checked."""

from __future__ import annotations

from typing import Any, Literal

from handrail import registry
from handrail.app import App
from handrail.doctor.programs import Program, find_programs
from handrail.source.dataclasses import dataclass, field

Status = Literal["ok", "warning", "error", "skipped"]
STATUSES: tuple[Status, ...] = ("error", "warning", "skipped", "ok")


@dataclass(frozen=True)
class Checkup:
    """What was found, and what to do about it. `id` is stable.

    `command` repairs it, and can be pasted into a shell. `fix` says in words what to do; by default, to run `command`.
    """

    id: str
    status: Status
    message: str
    fix: str | None = None
    command: str | None = None
    category: str = ""

    @property
    def cure(self) -> str | None:
        return self.fix or (f"run `{self.command}`" if self.command else None)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "category": self.category,
            "status": self.status,
            "message": self.message,
            "fix": self.cure,
            "command": self.command,
        }


@dataclass
class Subject:
    """What is checked: Handrail in one project, and agents. `agent` is the one that a person named, else None."""

    app: App
    agent: str | None = None
    _programs: dict[str, Program] | None = field(default=None, repr=False)

    @property
    def agents(self) -> list[str]:
        return [self.agent] if self.agent else registry.installable()

    async def programs(self) -> dict[str, Program]:
        """The program of each agent. They are asked for their versions once, all at the same time."""
        if self._programs is None:
            self._programs = await find_programs(self.agents, self.app.run_env, self.app.env)
        return self._programs


def is_ok(found: list[Checkup], *, strict: bool = False) -> bool:
    """True if no check found an error. With `strict`, a warning counts as an error."""
    wrong = ("error", "warning") if strict else ("error",)
    return all(one.status not in wrong for one in found)
