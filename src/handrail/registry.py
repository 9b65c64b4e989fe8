"""Name → implementation: one row each. Built-ins are registered as extensions are; nothing is imported early.

Importing this costs next to nothing: hooks do.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from handrail.contracts import (
        Check,
        CheckKind,
        Engine,
        EngineKind,
        Executor,
        Host,
        Market,
        Node,
        NodeKind,
        Site,
    )

CHECKS: dict[str, str] = {
    "run": "handrail.checks.run",
    "file": "handrail.checks.file",
    "require-artifacts": "handrail.checks.require_artifacts",
    "require-structured-artifacts": "handrail.checks.require_structured_artifacts",
    "require-file": "handrail.checks.require_file",
    "step-output": "handrail.checks.step_output",
}
AGENTS: dict[str, dict[str, str]] = {
    "claude": {"host": "handrail.agents.claude.host", "executor": "handrail.agents.claude.executor"},
    "codex": {"executor": "handrail.agents.codex.executor"},
    "copilot": {"executor": "handrail.agents.copilot.executor"},
    "gemini": {"executor": "handrail.agents.gemini.executor"},
    "opencode": {"executor": "handrail.agents.opencode.executor"},
    "pi": {"executor": "handrail.agents.pi.executor", "workflows": "handrail.agents.pi.definitions"},
    "scripted": {"host": "handrail.agents.scripted.host", "executor": "handrail.agents.scripted.executor"},
}
"""One row per agent: as `host` it calls us, as `executor` we call it, `workflows` says where it keeps definitions."""
OWN_TOOLS = "scripted"  # its tools have the names of Handrail's own vocabulary
ENGINES: dict[str, str] = {"embedded": "handrail.runs.embedded.engine"}
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


def nodes() -> Mapping[str, NodeKind]:
    """Every node: one module each, and one for each executor."""
    from functools import partial

    from handrail.contracts.lazy import Imported

    rows: dict[str, Callable[[], NodeKind]] = {f"{agent}-prompt": partial(_fixed, agent) for agent in executors()}
    rows |= {name: partial(_node, name) for name in NODES}
    return Imported(dict(sorted(rows.items())))


def node_declarations() -> Mapping[str, Node]:
    """What every node says about itself."""
    from functools import partial

    from handrail.contracts.lazy import Imported

    kinds = nodes()
    return Imported({name: partial(_node_declared, kinds, name) for name in kinds})


def checks() -> Mapping[str, Check]:
    """What every kind of check says about itself, in the order of the registry."""
    from functools import partial

    from handrail.contracts.lazy import Imported

    return Imported({name: partial(_check_declared, name) for name in CHECKS})


def _node(name: str) -> NodeKind:
    found: NodeKind = _module(NODES[name])
    return found


def _fixed(agent: str) -> NodeKind:
    found: NodeKind = _module(AGENT_NODE).fixed(agent)
    return found


def _node_declared(kinds: Mapping[str, NodeKind], name: str) -> Node:
    from handrail.contracts.node import Node

    declared = getattr(kinds[name], "NODE", None)
    if not isinstance(declared, Node):
        raise TypeError(f"the node `{name}` has no `NODE = Node(...)`: {kinds[name]!r}")
    return declared


def _check_declared(name: str) -> Check:
    from handrail.contracts.check import Check

    kind = check_kind(name)
    declared = getattr(kind, "CHECK", None)
    if not isinstance(declared, Check):
        raise TypeError(f"the check `{name}` has no `CHECK = Check(...)`: {kind!r}")
    return declared


def hosts() -> list[str]:
    """The agents that can call us."""
    return [name for name, row in AGENTS.items() if "host" in row]


def host(agent: str) -> Host:
    """How an agent calls us. `KeyError` if it cannot."""
    found: Host = _module(AGENTS[agent]["host"])
    return found


def installable() -> list[str]:
    """The agents that our stubs can be installed into: those whose conversations are found by a link."""
    return [name for name in hosts() if host(name).LINKS]


def market(agent: str) -> Market:
    """An agent that knows marketplaces of plugins. `KeyError` if it does not."""
    if agent not in markets():
        raise KeyError(agent)
    found: Market = _module(AGENTS[agent]["host"])
    return found


def markets() -> list[str]:
    """The agents that know marketplaces of plugins."""
    return [name for name in hosts() if hasattr(host(name), "marketplace")]


def executors() -> list[str]:
    """The agents that steps can be given to."""
    return [name for name, row in AGENTS.items() if "executor" in row]


def engine(name: str, site: Site) -> Engine:
    """What keeps the runs of a project. `KeyError` if there is no engine of this name."""
    kind: EngineKind = _module(ENGINES[name])
    return kind.open_engine(site)


def executor(agent: str) -> Executor:
    """An agent that steps can be given to. `KeyError` if there is none of this name."""
    found: Executor = _module(AGENTS[agent]["executor"])
    return found


def workflow_folders(env: Mapping[str, str], home: str) -> list[str]:
    """Folders of the user's in which agents keep workflows of their own."""
    return [_module(row["workflows"]).user_workflows(env, home) for row in AGENTS.values() if "workflows" in row]


def check_kind(name: str) -> CheckKind:
    found: CheckKind = _module(CHECKS[name])
    return found


def _module(name: str) -> Any:
    """A module by its name, imported when it is needed. `importlib` itself would cost a hook too much."""
    __import__(name)
    return sys.modules[name]
