"""The result of one check of `handrail doctor`, and what is checked: the project, and the programs of agents."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Mapping
from typing import Any, Literal

from handrail.app import App
from handrail.base.dataclasses import dataclass, field
from handrail.base.errors import HandrailError
from handrail.base.processes import run
from handrail.extensions import registry
from handrail.settings.environment import NoSuchProgram, chosen_program, variable_of

VERSION_SECONDS = 30.0
_VERSION = re.compile(r"\d+\.\d+(?:[\w.+-]*\w)?")


def find_program(agent: str, env: Mapping[str, str], named: str | None = None) -> str | None:
    """The path of an agent's program: the named one, that of its variable, or the one on the PATH; else None.

    Raises `HandrailError` if the variable names no program.
    """
    own = registry.executor(agent).PROGRAM
    try:
        found = chosen_program(own, env) if named is None else None
    except NoSuchProgram as error:
        raise HandrailError(error.message, f"correct or unset `{variable_of(own)}`") from None
    found = found or shutil.which(named or own, path=env.get("PATH"))
    return os.path.abspath(found) if found else None


def chosen_by(agent: str, env: Mapping[str, str]) -> str | None:
    """The variable that chooses the program of an agent; None if none does."""
    variable = variable_of(registry.executor(agent).PROGRAM)
    return variable if variable and env.get(variable) else None


async def version_of(program: str, env: Mapping[str, str]) -> str:
    """The version that a program prints. Raises `HandrailError` if it cannot be started or prints none."""
    try:
        ended = await run([program, "--version"], os.path.dirname(program), env, VERSION_SECONDS)
    except OSError as error:
        raise HandrailError(f"`{program}` cannot be started: {error.strerror}") from error
    found = _VERSION.search(ended.output)
    if ended.timed_out or ended.exit_code != 0 or found is None:
        how = "took too long" if ended.timed_out else f"ended with exit code {ended.exit_code}"
        raise HandrailError(f"`{program} --version` {how}", "start the program yourself to see why")
    return found[0]


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version before any other word: `0.9.1-rc.2` is (0, 9, 1)."""
    return tuple(map(int, re.findall(r"\d+", version.partition("-")[0])))


@dataclass(frozen=True)
class AgentProgram:
    """The program of an agent. `path` is None if there is none. `error` says why its version is not known."""

    path: str | None = None
    version: str | None = None
    error: HandrailError | None = None


async def _program(agent: str, app: App) -> AgentProgram:
    path = None
    try:
        path = find_program(agent, app.run_env)
        return AgentProgram() if path is None else AgentProgram(path, await version_of(path, app.env))
    except HandrailError as error:
        return AgentProgram(path, error=error)


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
    _programs: dict[str, AgentProgram] | None = field(default=None, repr=False)

    @property
    def agents(self) -> list[str]:
        return [self.agent] if self.agent else registry.installable()

    async def programs(self) -> dict[str, AgentProgram]:
        """The program of each agent. They are asked for their versions once, all at the same time."""
        if self._programs is None:
            programs = await asyncio.gather(*(_program(agent, self.app) for agent in self.agents))
            self._programs = dict(zip(self.agents, programs, strict=True))
        return self._programs


def is_ok(found: list[Checkup], *, strict: bool = False) -> bool:
    """True if no check found an error. With `strict`, a warning counts as an error."""
    wrong = ("error", "warning") if strict else ("error",)
    return all(one.status not in wrong for one in found)
