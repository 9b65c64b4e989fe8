"""Name → implementation: one row each. Built-ins are registered as extensions are; nothing is imported early."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import TypeVar, cast

from handrail.contracts import Check, CheckKind, Executor, Node, NodeKind, Recipe, Stubs

T = TypeVar("T")

CHECKS: dict[str, str] = {
    "run": "handrail.checks.run",
    "file": "handrail.checks.file",
    "require-artifacts": "handrail.checks.require_artifacts",
    "require-structured-artifacts": "handrail.checks.require_structured_artifacts",
    "require-file": "handrail.checks.require_file",
    "step-output": "handrail.checks.step_output",
}
AGENTS: dict[str, str] = {"claude": "handrail.agents.claude", "scripted": "handrail.agents.scripted"}
EXECUTORS: dict[str, str] = {
    name: f"handrail.agents.{name}.executor"
    for name in ("claude", "codex", "copilot", "gemini", "opencode", "pi", "scripted")
}
INSTALLS: dict[str, str] = {"claude": "handrail.agents.claude.install"}
ALIASES: dict[str, str] = {"claude": "handrail.agents.claude.tools"}


NODES: dict[str, str] = {
    "command": "handrail.nodes.command",
    "file-check": "handrail.nodes.file_check",
    "flow-run": "handrail.nodes.flow_run",
    "llm-prompt": "handrail.nodes.llm_prompt",
    "read-file": "handrail.nodes.read_file",
    "set": "handrail.nodes.set_value",
    "user-input": "handrail.nodes.user_input",
    "wait": "handrail.nodes.wait",
    "workflow-run": "handrail.nodes.workflow_run",
    "write-file": "handrail.nodes.write_file",
}
AGENT_NODE = "handrail.nodes.llm_prompt"  # every executor has a node `AGENT-prompt` that is fixed to it


class Imported(Mapping[str, T]):
    """What is registered, by name. Each entry is made when it is first used."""

    def __init__(self, rows: Mapping[str, Callable[[], T]]) -> None:
        self._rows = rows
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._made:
            self._made[name] = self._rows[name]()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def nodes() -> Mapping[str, NodeKind]:
    """Every node: one module each, and one for each executor."""
    rows: dict[str, Callable[[], NodeKind]] = {f"{agent}-prompt": partial(_fixed, agent) for agent in EXECUTORS}
    rows |= {name: partial(_node, name) for name in NODES}
    return Imported(dict(sorted(rows.items())))


def node_declarations() -> Mapping[str, Node]:
    """What every node says about itself."""
    kinds = nodes()
    return Imported({name: partial(_node_declared, kinds, name) for name in kinds})


def checks() -> Mapping[str, Check]:
    """What every kind of check says about itself, in the order of the registry."""
    return Imported({name: partial(_check_declared, name) for name in CHECKS})


def _node(name: str) -> NodeKind:
    return cast("NodeKind", import_module(NODES[name]))


def _fixed(agent: str) -> NodeKind:
    return cast("NodeKind", import_module(AGENT_NODE).fixed(agent))


def _node_declared(kinds: Mapping[str, NodeKind], name: str) -> Node:
    declared = getattr(kinds[name], "NODE", None)
    if not isinstance(declared, Node):
        raise TypeError(f"the node `{name}` has no `NODE = Node(...)`: {kinds[name]!r}")
    return declared


def _check_declared(name: str) -> Check:
    kind = check_kind(name)
    declared = getattr(kind, "CHECK", None)
    if not isinstance(declared, Check):
        raise TypeError(f"the check `{name}` has no `CHECK = Check(...)`: {kind!r}")
    return declared


def executor(agent: str) -> Executor:
    """An agent that steps can be given to. `KeyError` when there is none of this name."""
    return cast("Executor", import_module(EXECUTORS[agent]))


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
    """The module of a check. `KeyError` if there is none of this name."""
    return cast("CheckKind", import_module(CHECKS[name]))
