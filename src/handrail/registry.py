"""Name → implementation. Built-ins come through the same door that extensions will use; nothing is imported early."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from handrail.contracts import CheckKind, Recipe, Stubs

CHECKS: dict[str, str] = {"file": "handrail.checks.file", "run": "handrail.checks.run"}
AGENTS: dict[str, str] = {"claude": "handrail.agents.claude", "scripted": "handrail.agents.scripted"}
INSTALLS: dict[str, str] = {"claude": "handrail.agents.claude.install"}
ALIASES: dict[str, str] = {"claude": "handrail.agents.claude.tools"}


def aliases(agent: str, tool: str) -> tuple[str, ...]:
    """The other names of an agent's tool."""
    if agent not in ALIASES:
        return ()
    names: tuple[str, ...] = import_module(ALIASES[agent]).aliases(tool)
    return names


def recipe(agent: str, home: str, config: str | None, project: str | None, stubs: Stubs) -> Recipe:
    """How an agent is given our stubs."""
    return cast("Recipe", import_module(INSTALLS[agent]).recipe(home, config, project, stubs))


def marketplace(agent: str, stubs: Stubs) -> dict[str, str]:
    """A plugin that others can point their agent at: path → content."""
    files: dict[str, str] = import_module(f"{AGENTS[agent]}.plugin").marketplace(stubs)
    return files


def check_kind(name: str) -> CheckKind:
    return cast("CheckKind", import_module(CHECKS[name]))
