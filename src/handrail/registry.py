"""Name → implementation. Built-ins come through the same door that extensions will use; nothing is imported early."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from handrail.contracts import CheckKind, Engine, EngineKind, Executor, NodeInfo, NodeKind, Recipe, Site, Stubs

CHECKS: dict[str, str] = {"file": "handrail.checks.file", "run": "handrail.checks.run"}
AGENTS: dict[str, str] = {"claude": "handrail.agents.claude", "scripted": "handrail.agents.scripted"}
EXECUTORS: dict[str, str] = {
    name: f"handrail.agents.{name}.executor"
    for name in ("claude", "codex", "copilot", "gemini", "opencode", "pi", "scripted")
}
ENGINES: dict[str, str] = {"embedded": "handrail.runs.embedded.engine"}
INSTALLS: dict[str, str] = {"claude": "handrail.agents.claude.install"}
ALIASES: dict[str, str] = {"claude": "handrail.agents.claude.tools"}


NODES: dict[str, tuple[str, NodeInfo]] = {
    "codex-prompt": ("handrail.nodes.prompt", NodeInfo("required")),
    "command": ("handrail.nodes.command", NodeInfo(required=("argv",))),
    "file-check": ("handrail.nodes.files", NodeInfo(required=("path",))),
    "flow-run": ("", NodeInfo(required=("fileName",), nested="fileName")),
    "llm-prompt": (
        "handrail.nodes.prompt",
        NodeInfo("required", routed=True, makes=("requiredArtifacts",)),
    ),
    "opencode-prompt": ("handrail.nodes.prompt", NodeInfo("required")),
    "read-file": ("handrail.nodes.files", NodeInfo(required=("path",))),
    "set": ("handrail.nodes.set_value", NodeInfo()),
    "user-input": ("handrail.nodes.user_input", NodeInfo(required=("formId", "title", "fields"))),
    "wait": ("handrail.nodes.wait", NodeInfo(required=("seconds",))),
    "workflow-run": ("handrail.nodes.workflow_run", NodeInfo(required=("workflow",), routed=True)),
    "write-file": ("handrail.nodes.files", NodeInfo(required=("path", "text"))),
}


def nodes() -> dict[str, NodeKind]:
    """Every node that is a module; running a flow inside a flow is the interpreter's own."""
    return {name: cast("NodeKind", import_module(module)) for name, (module, _) in NODES.items() if module}


def engine(name: str, site: Site) -> Engine:
    """What keeps the runs of a project. `KeyError` if there is no engine of this name."""
    return cast("EngineKind", import_module(ENGINES[name])).open_engine(site)


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
    return cast("CheckKind", import_module(CHECKS[name]))
