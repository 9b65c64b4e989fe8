"""Finds the program of an agent, and asks it for its version."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Mapping

from handrail import registry
from handrail.errors import HandrailError
from handrail.process.child import run
from handrail.process.chosen import NoSuchProgram, chosen_program, variable_of
from handrail.source.dataclasses import dataclass

SECONDS = 30.0
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
    argv = [program, "--version"]
    try:
        ended = await run(argv, os.path.dirname(program), env, SECONDS)
    except OSError as error:
        raise HandrailError(f"`{program}` cannot be started: {error.strerror}") from error
    found = _VERSION.search(ended.output)
    if ended.timed_out or ended.exit_code != 0 or found is None:
        how = "took too long" if ended.timed_out else f"ended with exit code {ended.exit_code}"
        raise HandrailError(f"`{program} --version` {how}", "start the program yourself to see why")
    return found[0]


@dataclass(frozen=True)
class Program:
    """The program of an agent. `path` is None if there is none. `error` says why its version is not known."""

    path: str | None = None
    version: str | None = None
    error: HandrailError | None = None


async def find_programs(agents: list[str], env: Mapping[str, str], started: Mapping[str, str]) -> dict[str, Program]:
    """The programs of these agents with their versions. `env` chooses them; they are started with `started`."""
    found = await asyncio.gather(*(_program(agent, env, started) for agent in agents))
    return dict(zip(agents, found, strict=True))


async def _program(agent: str, env: Mapping[str, str], started: Mapping[str, str]) -> Program:
    path = None
    try:
        path = find_program(agent, env)
        return Program() if path is None else Program(path, await version_of(path, started))
    except HandrailError as error:
        return Program(path, error=error)
