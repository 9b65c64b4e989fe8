"""Name → implementation, one row each. Built-ins and extensions are registered in the same way.

Modules are imported when they are needed. Hooks import this module, so it imports almost nothing itself.
"""

from __future__ import annotations

import sys

from handrail import NAMED_AGENT

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
        Signs,
        Site,
    )
    from handrail.contracts.offline import Offline

CHECKS: dict[str, str] = {
    "run": "handrail.checks.run",
    "file": "handrail.checks.file",
    "require-artifacts": "handrail.checks.require_artifacts",
    "require-structured-artifacts": "handrail.checks.require_structured_artifacts",
    "require-file": "handrail.checks.require_file",
    "step-output": "handrail.checks.step_output",
}
AGENTS: dict[str, dict[str, str]] = {
    "acp": {"signs": "handrail.agents.acp.signs", "executor": "handrail.agents.acp.executor"},
    "claude": {
        "signs": "handrail.agents.claude.signs",
        "host": "handrail.agents.claude.host",
        "executor": "handrail.agents.claude.executor",
        "offline": "handrail.agents.claude.offline",
        "tools": "handrail.agents.claude.toolnames",
    },
    "codex": {
        "signs": "handrail.agents.codex.signs",
        "host": "handrail.agents.codex.host",
        "executor": "handrail.agents.codex.executor",
        "offline": "handrail.agents.codex.offline",
        "tools": "handrail.agents.codex.toolnames",
    },
    "copilot": {
        "signs": "handrail.agents.copilot.signs",
        "host": "handrail.agents.copilot.host",
        "executor": "handrail.agents.copilot.executor",
        "offline": "handrail.agents.copilot.offline",
        "tools": "handrail.agents.copilot.toolnames",
    },
    "gemini": {
        "signs": "handrail.agents.gemini.signs",
        "host": "handrail.agents.gemini.host",
        "executor": "handrail.agents.gemini.executor",
        "offline": "handrail.agents.gemini.offline",
        "tools": "handrail.agents.gemini.toolnames",
    },
    "opencode": {
        "signs": "handrail.agents.opencode.signs",
        "host": "handrail.agents.opencode.host",
        "executor": "handrail.agents.opencode.executor",
        "offline": "handrail.agents.opencode.offline",
        "tools": "handrail.agents.opencode.toolnames",
    },
    "pi": {
        "signs": "handrail.agents.pi.signs",
        "host": "handrail.agents.pi.host",
        "executor": "handrail.agents.pi.executor",
        "offline": "handrail.agents.pi.offline",
        "tools": "handrail.agents.pi.toolnames",
        "workflows": "handrail.agents.pi.definitions",
    },
    "scripted": {
        "signs": "handrail.agents.scripted.signs",
        "host": "handrail.agents.scripted.host",
        "executor": "handrail.agents.scripted.executor",
        "tools": "handrail.agents.scripted.host",
    },
}
"""One row per agent: a `host` calls us, we call an `executor`, and `workflows` says where it has its definitions.

`offline` says how to run it against a scripted model. `signs` say how a process recognises that the agent started it.
`tools` has the names of a host's tools: `TOOLS`, and `FORMER_TOOLS` of other versions.
"""
_TOOL_NAMES: dict[tuple[str, str], tuple[frozenset[str], frozenset[str]]] = {}
"""The results of `tool_names`, by the modules that they come from: every phase of a catalog asks for them."""
_KNOWN_TOOLS: list[tuple[dict[str, dict[str, str]], frozenset[str]]] = [({}, frozenset())]
"""The result of `known_tools`, and the rows that it comes from."""
OWN_TOOLS = "scripted"  # the agent whose tools have Handrail's own names
ENGINES: dict[str, str] = {"embedded": "handrail.runs.embedded.engine"}
NODES: dict[str, str] = {
    "approve": "handrail.nodes.approvals.approve",
    "build-failure-summary": "handrail.nodes.programs.failure_summary",
    "build-review-fix-prompt": "handrail.nodes.review.fix_prompt",
    "change-checks": "handrail.nodes.changes.checks",
    "change-reviews": "handrail.nodes.changes.reviews",
    "clear-ready-to-merge": "handrail.nodes.review.clear_ready",
    "command": "handrail.nodes.command",
    "command-check": "handrail.nodes.programs.command_check",
    "commit-message-form": "handrail.nodes.forms.commit_message",
    "design-review-verdict": "handrail.nodes.review.design_verdict",
    "ensure-summary-json": "handrail.nodes.summaries.ensure",
    "fetch-gitlab-diff": "handrail.nodes.gitlab.diff",
    "fetch-gitlab-review": "handrail.nodes.gitlab.review",
    "file-check": "handrail.nodes.file_check",
    "find-check": "handrail.nodes.programs.find_check",
    "flow-run": "handrail.nodes.flow_run",
    "git-branch": "handrail.nodes.git.branch",
    "git-commit": "handrail.nodes.git.commit",
    "git-commit-form": "handrail.nodes.forms.git_commit",
    "git-push": "handrail.nodes.git.push",
    "git-status": "handrail.nodes.git.status",
    "git-worktree": "handrail.nodes.git.worktree",
    "github-checks": "handrail.nodes.github.checks",
    "github-comment": "handrail.nodes.github.comment",
    "github-issue": "handrail.nodes.github.issue",
    "github-pr-diff": "handrail.nodes.github.diff",
    "github-reviews": "handrail.nodes.github.reviews",
    "gitlab-checks": "handrail.nodes.gitlab.checks",
    "gitlab-comment": "handrail.nodes.gitlab.comment",
    "gitlab-issue": "handrail.nodes.gitlab.issue",
    "gitlab-review-artifacts": "handrail.nodes.gitlab.findings",
    "gitlab-reviews": "handrail.nodes.gitlab.discussions",
    "jira-context": "handrail.nodes.jira.context",
    "jira-fetch": "handrail.nodes.jira.fetch",
    "jira-issue-check": "handrail.nodes.jira.issue_check",
    "llm-prompt": "handrail.nodes.llm_prompt",
    "local-script-check": "handrail.nodes.programs.script_check",
    "notify": "handrail.nodes.notify.node",
    "plan-codex": "handrail.nodes.plan_codex",
    "planning-bundle": "handrail.nodes.review.planning_bundle",
    "planning-questions-form": "handrail.nodes.forms.planning_questions",
    "playbook-ensure": "handrail.nodes.playbook.ensure",
    "playbook-inventory": "handrail.nodes.playbook.inventory",
    "playbook-questions-form": "handrail.nodes.playbook.questions",
    "playbook-write": "handrail.nodes.playbook.write",
    "pr-open": "handrail.nodes.git.pull_request",
    "project-guidance": "handrail.nodes.playbook.guidance",
    "propose": "handrail.nodes.approvals.propose",
    "read-file": "handrail.nodes.read_file",
    "review-findings-form": "handrail.nodes.forms.review_findings",
    "review-verdict": "handrail.nodes.review.verdict",
    "select-files-form": "handrail.nodes.forms.select_files",
    "set": "handrail.nodes.set_value",
    "structured-summary": "handrail.nodes.summaries.structured",
    "summary-file-load": "handrail.nodes.summaries.file_load",
    "telegram-notify": "handrail.nodes.telegram_notify",
    "user-input": "handrail.nodes.forms.user_input",
    "wait": "handrail.nodes.wait",
    "workflow-run": "handrail.nodes.workflow_run",
    "write-file": "handrail.nodes.write_file",
    "write-selection-file": "handrail.nodes.review.selection",
}
AGENT_NODE = "handrail.nodes.llm_prompt"  # also makes the node `AGENT-prompt` of each executor


def nodes() -> Mapping[str, NodeKind]:
    """All nodes: one per module, and one per executor."""
    from functools import partial

    from handrail.contracts.lazy import Imported

    rows: dict[str, Callable[[], NodeKind]] = {f"{agent}-prompt": partial(_fixed, agent) for agent in executors()}
    rows |= {name: partial(_node, name) for name in NODES}
    return Imported(dict(sorted(rows.items())))


def node_declarations() -> Mapping[str, Node]:
    """The declarations of all nodes."""
    from functools import partial

    from handrail.contracts.lazy import Imported

    kinds = nodes()
    return Imported({name: partial(_node_declared, kinds, name) for name in kinds})


def checks() -> Mapping[str, Check]:
    """The declarations of all kinds of checks, in the order of the registry."""
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
    if declared.where is not None and not callable(getattr(kinds[name], "preview", None)):
        raise TypeError(f"the node `{name}` declares `where`, but has no function `preview`: {kinds[name]!r}")
    return declared


def effects() -> dict[str, tuple[str, ...]]:
    """The nodes that `propose` can run, and the names that a rule for them can ask for. Imports every node."""
    return {name: node.where for name, node in node_declarations().items() if node.where is not None}


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
    """The host module of an agent. Raises `KeyError` if it has none."""
    found: Host = _module(AGENTS[agent]["host"])
    return found


def tool_names(agent: str) -> tuple[frozenset[str], frozenset[str]]:
    """The names of a host's tools in lists: of the tools that it has now, and of those of other versions."""
    place = AGENTS[agent].get("tools")
    if place is None:
        return frozenset(), frozenset()
    key = (place, AGENTS[agent]["host"])
    if key not in _TOOL_NAMES:
        (now, former), aliases = own_tools(agent), host(agent).aliases
        _TOOL_NAMES[key] = (
            frozenset(name for tool in now for name in (tool, *aliases(tool))),
            frozenset(name for tool in former for name in (tool, *aliases(tool))),
        )
    return _TOOL_NAMES[key]


def own_tools(agent: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tools of a host as it calls them: those that it has now, and those of other versions."""
    place = AGENTS[agent].get("tools")
    module = _module(place) if place is not None else None
    return (module.TOOLS, module.FORMER_TOOLS) if module is not None else ((), ())


def tool_groups(agent: str) -> list[frozenset[str]]:
    """The names of each tool of a host, of all versions."""
    now, former = own_tools(agent)
    return [frozenset((tool, *host(agent).aliases(tool))) for tool in (*now, *former)]


def known_tools() -> frozenset[str]:
    """The names that lists may use for the tools of all hosts, of all versions."""
    rows, known = _KNOWN_TOOLS[0]
    if rows != AGENTS:
        known = frozenset().union(*(names for name in hosts() for names in tool_names(name)))
        _KNOWN_TOOLS[0] = dict(AGENTS), known
    return known


def installable() -> list[str]:
    """The agents that our stubs can be installed into: those that use links."""
    return [name for name in hosts() if host(name).LINKS]


def market(agent: str) -> Market:
    """The module of an agent that has marketplaces of plugins. Raises `KeyError` if it has none."""
    if agent not in markets():
        raise KeyError(agent)
    found: Market = _module(AGENTS[agent]["host"])
    return found


def markets() -> list[str]:
    """The agents that have marketplaces of plugins."""
    return [name for name in hosts() if hasattr(host(name), "marketplace")]


def executors() -> list[str]:
    """The agents that can run steps."""
    return [name for name, row in AGENTS.items() if "executor" in row]


def has_executor(agent: str) -> bool:
    """True if an agent can run steps: one of `executors`, or a named one such as `acp:NAME`."""
    return _kind(agent) in executors()


def engine(name: str, site: Site) -> Engine:
    """The engine that stores the runs of a project. Raises `KeyError` if the name is unknown."""
    kind: EngineKind = _module(ENGINES[name])
    return kind.open_engine(site)


def executor(agent: str) -> Executor:
    """The executor module of an agent. Raises `KeyError` if it has none."""
    found: Executor = _module(AGENTS[_kind(agent)]["executor"])
    return found


def offline(agent: str) -> Offline:
    """The module that runs an agent offline. Raises `KeyError` if it has none."""
    found: Offline = _module(AGENTS[agent]["offline"])
    return found


def signs() -> dict[str, Signs]:
    """How to recognise each agent, by its name."""
    return {name: _module(row["signs"]) for name, row in AGENTS.items() if "signs" in row}


def workflow_folders(env: Mapping[str, str], home: str) -> list[str]:
    """The user's folders in which agents have their own workflows."""
    return [_module(row["workflows"]).user_workflows(env, home) for row in AGENTS.values() if "workflows" in row]


def _kind(agent: str) -> str:
    """The row of an agent: of `acp:NAME` that of `acp`."""
    kind, _, name = agent.partition(":")
    return kind if kind == NAMED_AGENT and name and ":" not in name else agent


def check_kind(name: str) -> CheckKind:
    found: CheckKind = _module(CHECKS[name])
    return found


def _module(name: str) -> Any:
    """Import a module by its name. Importing `importlib` would take too long in a hook."""
    __import__(name)
    return sys.modules[name]
