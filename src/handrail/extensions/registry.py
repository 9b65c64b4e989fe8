"""Name → implementation, one row each: what is built in, and what plugins add as `ID/NAME`.

A new check, agent, engine or node is one row in the tables here. Modules are imported when they are needed, and plugins
are searched for only if something asks for all names, or for a name that is not built in. Hooks import this module, so
it imports almost nothing itself.
"""

from __future__ import annotations

import sys

from handrail import FINDERS, NAMED_AGENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from handrail.base.errors import HandrailError
    from handrail.extensions.callers import Signs
    from handrail.extensions.contracts import (
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
    from handrail.extensions.contracts.offline import Offline
    from handrail.extensions.registry_rows import Extensions

CHECKS: dict[str, str] = {
    "run": "handrail.steps.checks.run",
    "file": "handrail.steps.checks.file",
    "require-artifacts": "handrail.steps.checks.require_artifacts",
    "require-structured-artifacts": "handrail.steps.checks.require_structured_artifacts",
    "require-file": "handrail.steps.checks.require_file",
    "step-output": "handrail.steps.checks.step_output",
}


def _modules(agent: str, *parts: str, **others: str) -> dict[str, str]:
    """The modules of an agent, by part: of the same name, or of another one."""
    rows = {**{part: part for part in parts}, **others}
    return {part: f"handrail.agents.{agent}.{name}" for part, name in rows.items()}


AGENTS: dict[str, dict[str, str]] = {
    "acp": _modules("acp", "executor"),
    "claude": _modules("claude", "host", "executor", "offline", "tools"),
    "codex": _modules("codex", "host", "executor", "offline", "tools"),
    "copilot": _modules("copilot", "host", "executor", "offline", "tools"),
    "gemini": _modules("gemini", "host", "executor", "offline", "tools"),
    "opencode": _modules("opencode", "host", "executor", "offline", "tools"),
    "pi": _modules("pi", "host", "executor", "offline", "tools"),
    "scripted": _modules("scripted", "host", "executor", tools="host"),
}
"""One row per agent: a `host` calls us, we call an `executor`, `offline` runs it against a scripted model.

`tools` has the names of a host's tools: `TOOLS`, and `FORMER_TOOLS` of other versions.
"""
SIGNS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "acp": ((), ("handrail.agents.acp.driver",)),
    "claude": (("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"), ("claude", "claude-code/cli.js")),
    "codex": (("CODEX_THREAD_ID", "CODEX_CI", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"), ("codex",)),
    "copilot": (("COPILOT_CLI",), ("copilot", "copilot/index.js", "copilot/npm-loader.js")),
    "gemini": (("GEMINI_CLI",), ("gemini",)),
    "opencode": (("OPENCODE",), ("opencode", ".opencode")),
    "pi": (("PI_CODING_AGENT",), ("pi", "pi-coding-agent/dist/cli.js")),
    "scripted": ((), ("handrail.agents.scripted",)),
}
"""How a process recognises that an agent started it: `VARIABLES` and `PROGRAMS` of `callers.Signs`."""
WORKFLOW_FOLDERS: dict[str, tuple[str, str]] = {"pi": ("PI_CODING_AGENT_DIR", ".pi/agent")}
"""Agents with workflows of their own: the variable that names their folder, and the folder below the home."""
OWN_TOOLS = "scripted"  # the agent whose tools have Handrail's own names
ENGINES: dict[str, str] = {"embedded": "handrail.driven.engines.embedded.engine"}
NODES: dict[str, str] = {
    "approve": "handrail.steps.nodes.people.approve",
    "build-failure-summary": "handrail.steps.nodes.agents.failure_summary",
    "build-review-fix-prompt": "handrail.steps.nodes.review.fix_prompt",
    "change-checks": "handrail.steps.nodes.forges.checks:CHANGE_CHECKS",
    "change-reviews": "handrail.steps.nodes.forges.reviews:CHANGE_REVIEWS",
    "clear-ready-to-merge": "handrail.steps.nodes.review.clear_ready",
    "command": "handrail.steps.nodes.programs.command",
    "command-check": "handrail.steps.nodes.programs.command_check",
    "commit-message-form": "handrail.steps.nodes.people.commit_message_form",
    "design-review-verdict": "handrail.steps.nodes.review.design_verdict",
    "ensure-summary-json": "handrail.steps.nodes.files.summaries:ENSURE",
    "fetch-gitlab-diff": "handrail.steps.nodes.forges.diff:GITLAB",
    "fetch-gitlab-review": "handrail.steps.nodes.forges.reviews:GITLAB_COMMENTS",
    "file-check": "handrail.steps.nodes.files.file_check",
    "find-check": "handrail.steps.nodes.programs.find_check",
    "flow-run": "handrail.steps.nodes.flow_run",
    "git-branch": "handrail.steps.nodes.git.branch",
    "git-commit": "handrail.steps.nodes.git.commit",
    "git-commit-form": "handrail.steps.nodes.people.git_commit_form",
    "git-push": "handrail.steps.nodes.git.push",
    "git-status": "handrail.steps.nodes.git.status",
    "git-worktree": "handrail.steps.nodes.git.worktree",
    "github-checks": "handrail.steps.nodes.forges.checks:GITHUB",
    "github-comment": "handrail.steps.nodes.forges.comment:GITHUB",
    "github-issue": "handrail.steps.nodes.forges.issue:GITHUB",
    "github-pr-diff": "handrail.steps.nodes.forges.diff:GITHUB",
    "github-reviews": "handrail.steps.nodes.forges.reviews:GITHUB",
    "gitlab-checks": "handrail.steps.nodes.forges.checks:GITLAB",
    "gitlab-comment": "handrail.steps.nodes.forges.comment:GITLAB",
    "gitlab-issue": "handrail.steps.nodes.forges.issue:GITLAB",
    "gitlab-review-artifacts": "handrail.steps.nodes.forges.reviews:GITLAB_FINDINGS",
    "gitlab-reviews": "handrail.steps.nodes.forges.reviews:GITLAB",
    "jira-context": "handrail.steps.nodes.jira.context",
    "jira-fetch": "handrail.steps.nodes.jira.fetch",
    "jira-issue-check": "handrail.steps.nodes.jira.issue_check",
    "llm-prompt": "handrail.steps.nodes.agents.llm_prompt",
    "local-script-check": "handrail.steps.nodes.programs.script_check",
    "notify": "handrail.steps.nodes.people.notify",
    "plan-codex": "handrail.steps.nodes.agents.llm_prompt:PLAN",
    "planning-bundle": "handrail.steps.nodes.review.planning_bundle",
    "planning-questions-form": "handrail.steps.nodes.people.planning_questions_form",
    "playbook-ensure": "handrail.steps.nodes.playbook.ensure",
    "playbook-inventory": "handrail.steps.nodes.playbook.inventory",
    "playbook-questions-form": "handrail.steps.nodes.playbook.questions",
    "playbook-write": "handrail.steps.nodes.playbook.write",
    "pr-open": "handrail.steps.nodes.forges.pull_request",
    "project-guidance": "handrail.steps.nodes.playbook.guidance",
    "propose": "handrail.steps.nodes.people.propose",
    "read-file": "handrail.steps.nodes.files.read_file",
    "review-findings-form": "handrail.steps.nodes.people.review_findings_form",
    "review-verdict": "handrail.steps.nodes.review.verdict",
    "select-files-form": "handrail.steps.nodes.people.select_files_form",
    "set": "handrail.steps.nodes.set_value",
    "structured-summary": "handrail.steps.nodes.files.summaries:READ",
    "summary-file-load": "handrail.steps.nodes.files.summaries:LOAD",
    "telegram-notify": "handrail.steps.nodes.people.telegram_notify",
    "user-input": "handrail.steps.nodes.people.user_input",
    "wait": "handrail.steps.nodes.wait",
    "workflow-run": "handrail.steps.nodes.agents.workflow_run",
    "write-file": "handrail.steps.nodes.files.write_file",
    "write-selection-file": "handrail.steps.nodes.review.selection",
}
AGENT_NODE = "handrail.steps.nodes.agents.llm_prompt"  # also makes the node `AGENT-prompt` of each executor


_TOOL_NAMES: dict[tuple[str, str], tuple[frozenset[str], frozenset[str]]] = {}
"""The results of `tool_names`, by the modules that they come from: every phase of a catalog asks for them."""
_KNOWN_TOOLS: list[tuple[dict[str, Mapping[str, str]], frozenset[str]]] = [({}, frozenset())]
"""The result of `known_tools`, and the rows that it comes from."""


def nodes() -> Mapping[str, NodeKind]:
    """All nodes: one per module, and one per executor."""
    from functools import partial

    from handrail.extensions.registry_rows import LazyMapping

    rows: dict[str, Callable[[], NodeKind]] = {f"{agent}-prompt": partial(_fixed, agent) for agent in executors()}
    rows |= {name: partial(_node, name) for name in NODES}
    rows |= {name: partial(more.node, name) for more in _extensions() for name in more.nodes}
    return LazyMapping(dict(sorted(rows.items())))


def node_declarations() -> Mapping[str, Node]:
    """The declarations of all nodes."""
    from functools import partial

    from handrail.extensions.registry_rows import LazyMapping

    kinds = nodes()
    return LazyMapping({name: partial(_node_declared, kinds, name) for name in kinds})


def checks() -> Mapping[str, Check]:
    """The declarations of all kinds of checks, in the order of the registry."""
    from functools import partial

    from handrail.extensions.registry_rows import LazyMapping

    names = [*CHECKS, *(name for more in _extensions() for name in more.checks)]
    return LazyMapping({name: partial(_check_declared, name) for name in names})


def _node(name: str) -> NodeKind:
    """The node of a row: a module, or one of several nodes of a module (`MODULE:NAME`)."""
    module, _, part = NODES[name].partition(":")
    found: NodeKind = getattr(_module(module), part) if part else _module(module)
    return found


def _fixed(agent: str) -> NodeKind:
    found: NodeKind = _module(AGENT_NODE).fixed(agent)
    return found


def _node_declared(kinds: Mapping[str, NodeKind], name: str) -> Node:
    from handrail.extensions.contracts.node import Node

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
    from handrail.extensions.contracts.check import Check

    kind = check_kind(name)
    declared = getattr(kind, "CHECK", None)
    if not isinstance(declared, Check):
        raise TypeError(f"the check `{name}` has no `CHECK = Check(...)`: {kind!r}")
    return declared


def _extensions() -> list[Extensions]:
    return [find() for find in FINDERS]


def built_in_nodes() -> list[str]:
    """The names of the nodes that no plugin may take."""
    return [*NODES, *(f"{agent}-prompt" for agent, row in AGENTS.items() if "executor" in row)]


def version() -> str:
    """A text that changes if the plugins that are here change, or the checks that are built in."""
    return repr((CHECKS, [more.version for more in _extensions()]))


def unusable(name: str) -> HandrailError | None:
    """Why something of a plugin with this name cannot be used now; None if it can, or if it is built in."""
    if name in NODES or name in CHECKS or name in AGENTS:
        return None
    return next((error for more in _extensions() if (error := more.error(name)) is not None), None)


def refuse_unusable(names: Iterable[str]) -> None:
    """Raise the error of the first of these that is of a plugin which cannot be used now."""
    for name in dict.fromkeys(names):
        error = unusable(name)
        if error is not None:
            raise error


def hosts() -> list[str]:
    """The agents that can call us."""
    return [name for name, row in _agents().items() if "host" in row]


def built_in_hosts() -> list[str]:
    """The agents that can call us, without those of plugins."""
    return [name for name, row in AGENTS.items() if "host" in row]


def is_host(agent: str) -> bool:
    """True if an agent can call us. Searches for no plugin if it is built in."""
    return "host" in AGENTS.get(agent, ()) or ("/" in agent and agent in hosts())


def host(agent: str) -> Host:
    """The host module of an agent. Raises `KeyError` if it has none, `HandrailError` if its plugin cannot be used."""
    found: Host = _part(agent, "host")
    return found


def _usable_hosts() -> list[str]:
    """The agents that can call us, without those of plugins that cannot be used."""
    return [name for name in hosts() if unusable(name) is None]


def _agents() -> dict[str, Mapping[str, str]]:
    """All agents: name → part → module."""
    rows: dict[str, Mapping[str, str]] = dict(AGENTS)
    for more in _extensions():
        rows |= more.agents
    return rows


def _part(agent: str, part: str) -> Any:
    """A module of an agent. Raises `KeyError` if the agent is unknown or has no such part."""
    if agent in AGENTS:
        return _module(AGENTS[agent][part])
    for more in _extensions():
        if agent in more.agents:
            return more.part(agent, part)
    raise KeyError(agent)


def tool_names(agent: str) -> tuple[frozenset[str], frozenset[str]]:
    """The names of a host's tools in lists: of the tools that it has now, and of those of other versions."""
    row = _agents()[agent]
    if "tools" not in row or unusable(agent) is not None:
        return frozenset(), frozenset()
    key = (row["tools"], row["host"])
    if key not in _TOOL_NAMES:
        (now, former), aliases = own_tools(agent), host(agent).aliases
        _TOOL_NAMES[key] = (
            frozenset(name for tool in now for name in (tool, *aliases(tool))),
            frozenset(name for tool in former for name in (tool, *aliases(tool))),
        )
    return _TOOL_NAMES[key]


def own_tools(agent: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tools of a host as it calls them: those that it has now, and those of other versions."""
    module = _part(agent, "tools") if "tools" in _agents()[agent] else None
    return (module.TOOLS, module.FORMER_TOOLS) if module is not None else ((), ())


def tool_groups(agent: str) -> list[frozenset[str]]:
    """The names of each tool of a host, of all versions."""
    now, former = own_tools(agent)
    return [frozenset((tool, *host(agent).aliases(tool))) for tool in (*now, *former)]


def known_tools() -> frozenset[str]:
    """The names that lists may use for the tools of all hosts, of all versions."""
    rows, known = _KNOWN_TOOLS[0]
    now = _agents()
    if rows != now:
        known = frozenset().union(*(names for name in hosts() for names in tool_names(name)))
        _KNOWN_TOOLS[0] = now, known
    return known


def installable() -> list[str]:
    """The agents that our stubs can be installed into: those that use links."""
    return [name for name in _usable_hosts() if host(name).LINKS]


def market(agent: str) -> Market:
    """The module of an agent that has marketplaces of plugins. Raises `KeyError` if it has none."""
    if agent not in markets():
        raise KeyError(agent)
    found: Market = _part(agent, "host")
    return found


def markets() -> list[str]:
    """The agents that have marketplaces of plugins."""
    return [name for name in _usable_hosts() if hasattr(host(name), "marketplace")]


def executors() -> list[str]:
    """The agents that can run steps."""
    return [name for name, row in _agents().items() if "executor" in row]


def has_executor(agent: str) -> bool:
    """True if an agent can run steps: one of `executors`, or a named one such as `acp:NAME`."""
    return is_built_in(agent) or agent in executors()


def is_built_in(agent: str) -> bool:
    """True if an agent can run steps, and comes with Handrail or is a named one such as `acp:NAME`."""
    return "executor" in AGENTS.get(_kind(agent), ())


def engine(name: str, site: Site) -> Engine:
    """The engine that stores the runs of a project. Raises `KeyError` if the name is unknown."""
    kind: EngineKind
    if name in ENGINES:
        kind = _module(ENGINES[name])
    else:
        kind = next(more.engine(name) for more in _extensions() if name in more.engines)
    return kind.open_engine(site)


def engines() -> list[str]:
    """The engines that can store runs."""
    return [*ENGINES, *(name for more in _extensions() for name in more.engines)]


def executor(agent: str) -> Executor:
    """The executor module of an agent. Raises `KeyError` if it has none."""
    found: Executor = _part(_kind(agent), "executor")
    return found


def offline(agent: str) -> Offline:
    """The module that runs an agent offline. Raises `KeyError` if it has none."""
    found: Offline = _part(agent, "offline")
    return found


def signs() -> dict[str, Signs]:
    """How to recognise each agent, by its name."""
    from handrail.extensions.callers import Signs

    own = {name: Signs(*row) for name, row in SIGNS.items()}
    return {**own, **{name: signs for more in _extensions() for name, signs in more.signs.items()}}


def workflow_folders(env: Mapping[str, str], home: str) -> list[str]:
    """The user's folders in which agents have their own workflows."""
    rows = WORKFLOW_FOLDERS.values()
    return [f"{env.get(variable) or f'{home}/{folder}'}/workflows" for variable, folder in rows]


def _kind(agent: str) -> str:
    """The row of an agent: of `acp:NAME` that of `acp`."""
    kind, _, name = agent.partition(":")
    return kind if kind == NAMED_AGENT and name and ":" not in name else agent


def check_kind(name: str) -> CheckKind:
    """The module of a check. Raises `KeyError` if there is none."""
    found: CheckKind
    if name in CHECKS:
        found = _module(CHECKS[name])
        return found
    for more in _extensions():
        if name in more.checks:
            return more.check(name)
    raise KeyError(name)


def _module(name: str) -> Any:
    """Import a module by its name. Importing `importlib` would take too long in a hook."""
    __import__(name)
    return sys.modules[name]
