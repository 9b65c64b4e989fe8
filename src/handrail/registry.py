"""Name → implementation. Built-ins come through the same door that extensions will use; nothing is imported early."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.contracts import CheckKind, Engine, EngineKind, Executor, Host, Market, NodeInfo, NodeKind, Site

CHECKS: dict[str, str] = {"file": "handrail.checks.file", "run": "handrail.checks.run"}
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


def _nodes() -> dict[str, tuple[str, NodeInfo]]:
    from handrail.contracts import NodeInfo

    return {
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


def __getattr__(name: str) -> Any:
    if name == "NODES":
        return _nodes()
    raise AttributeError(name)


def nodes() -> dict[str, NodeKind]:
    """Every node that is a module; running a flow inside a flow is the interpreter's own."""
    return {name: _module(module) for name, (module, _) in _nodes().items() if module}


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
