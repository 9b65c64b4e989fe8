"""Name → implementation, one row each: what is built in, and what plugins add as `ID/NAME`.

A new check, agent, engine or node is one row in the tables here. `App` makes a `Registry` of these rows and of the
plugins of its project, and passes it on. Modules are imported when they are needed, and plugins are searched for only
if something asks for all names, or for a name that is not built in. Hooks import this module, so it imports almost
nothing itself.
"""

from __future__ import annotations

import sys

from handrail import NAMED_AGENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from handrail.base.errors import HandrailError
    from handrail.extensions.callers import Signs
    from handrail.extensions.contracts import CheckKind, Engine, EngineKind, Executor, Host, Market, NodeKind, Site
    from handrail.extensions.contracts.agent import Installs, Offline
    from handrail.extensions.plugins.project_plugins import Plugins

CHECKS: dict[str, str] = {
    "run": "handrail.steps.checks.run",
    "file": "handrail.steps.checks.files:FILE",
    "require-artifacts": "handrail.steps.checks.files:REQUIRE_ARTIFACTS",
    "require-structured-artifacts": "handrail.steps.checks.files:REQUIRE_STRUCTURED_ARTIFACTS",
    "require-file": "handrail.steps.checks.files:REQUIRE_FILE",
    "step-output": "handrail.steps.checks.step_output",
}

_PARTS = {"host": "host", "executor": "executor", "install": "install", "offline": "offline", "tools": "host"}
AGENTS: dict[str, dict[str, str]] = {
    agent: {part: f"handrail.agents.{agent}.{module}" for part, module in parts.items()}
    for agent, parts in {
        "acp": {"executor": "executor"},
        "claude": _PARTS,
        "codex": _PARTS,
        "copilot": _PARTS,
        "gemini": _PARTS,
        "opencode": _PARTS,
        "pi": _PARTS,
        "scripted": {"host": "host", "executor": "executor", "tools": "host"},
    }.items()
}
"""One row per agent: a `host` calls us, we call an `executor`, `offline` runs it against a scripted model.

`install` has the recipe that installs our stubs; without this part, the module of the host has it. `tools` has the
names of a host's tools: `TOOLS`, and `FORMER_TOOLS` of other versions.
"""
SIGNS: dict[str, Signs] = {
    "acp": ((), ("handrail.agents.acp.driver",)),
    "claude": (("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"), ("claude", "claude-code/cli.js")),
    "codex": (("CODEX_THREAD_ID", "CODEX_CI", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"), ("codex",)),
    "copilot": (("COPILOT_CLI",), ("copilot", "copilot/index.js", "copilot/npm-loader.js")),
    "gemini": (("GEMINI_CLI",), ("gemini",)),
    "opencode": (("OPENCODE",), ("opencode", ".opencode")),
    "pi": (("PI_CODING_AGENT",), ("pi", "pi-coding-agent/dist/cli.js")),
    "scripted": ((), ("handrail.agents.scripted",)),
}
"""How a process recognises that an agent started it: `callers.Signs`."""
WORKFLOW_FOLDERS: dict[str, tuple[str, str]] = {"pi": ("PI_CODING_AGENT_DIR", ".pi/agent")}
"""Agents with workflows of their own: the variable that names their folder, and the folder below the home."""
OWN_TOOLS = "scripted"  # the agent whose tools have Handrail's own names
ENGINES: dict[str, str] = {"embedded": "handrail.driven.engines.embedded.engine"}
NODES: dict[str, str] = {
    "approve": "handrail.steps.nodes.people.approvals:APPROVE",
    "build-failure-summary": "handrail.steps.nodes.agents.llm_prompt:FAILURE_SUMMARY",
    "build-review-fix-prompt": "handrail.steps.nodes.review:BUILD_REVIEW_FIX_PROMPT",
    "change-checks": "handrail.steps.nodes.forges.changes:CHANGE_CHECKS",
    "change-reviews": "handrail.steps.nodes.forges.reviews:CHANGE_REVIEWS",
    "clear-ready-to-merge": "handrail.steps.nodes.review:CLEAR_READY_TO_MERGE",
    "command": "handrail.steps.nodes.programs:COMMAND",
    "command-check": "handrail.steps.nodes.programs:COMMAND_CHECK",
    "commit-message-form": "handrail.steps.nodes.people.forms:COMMIT_MESSAGE_FORM",
    "design-review-verdict": "handrail.steps.nodes.review:DESIGN_REVIEW_VERDICT",
    "ensure-summary-json": "handrail.steps.nodes.files:ENSURE_SUMMARY_JSON",
    "fetch-gitlab-diff": "handrail.steps.nodes.forges.changes:GITLAB_DIFF",
    "fetch-gitlab-review": "handrail.steps.nodes.forges.reviews:GITLAB_COMMENTS",
    "file-check": "handrail.steps.nodes.files:FILE_CHECK",
    "find-check": "handrail.steps.nodes.programs:FIND_CHECK",
    "find-forge": "handrail.steps.nodes.forges.pull_request:FIND_FORGE",
    "flow-run": "handrail.steps.nodes.basic:FLOW_RUN",
    "git-branch": "handrail.steps.nodes.git.checkout:BRANCH",
    "git-commit": "handrail.steps.nodes.git.commit",
    "git-commit-form": "handrail.steps.nodes.people.forms:GIT_COMMIT_FORM",
    "git-push": "handrail.steps.nodes.git.push",
    "git-status": "handrail.steps.nodes.git.checkout:STATUS",
    "git-worktree": "handrail.steps.nodes.git.checkout:WORKTREE",
    "github-checks": "handrail.steps.nodes.forges.changes:GITHUB_CHECKS",
    "github-comment": "handrail.steps.nodes.forges.issues:GITHUB_COMMENT",
    "github-issue": "handrail.steps.nodes.forges.issues:GITHUB_ISSUE",
    "github-pr-diff": "handrail.steps.nodes.forges.changes:GITHUB_DIFF",
    "github-reviews": "handrail.steps.nodes.forges.reviews:GITHUB",
    "gitlab-checks": "handrail.steps.nodes.forges.changes:GITLAB_CHECKS",
    "gitlab-comment": "handrail.steps.nodes.forges.issues:GITLAB_COMMENT",
    "gitlab-issue": "handrail.steps.nodes.forges.issues:GITLAB_ISSUE",
    "gitlab-review-artifacts": "handrail.steps.nodes.forges.reviews:GITLAB_FINDINGS",
    "gitlab-reviews": "handrail.steps.nodes.forges.reviews:GITLAB",
    "jira-context": "handrail.steps.nodes.jira:CONTEXT",
    "jira-fetch": "handrail.steps.nodes.jira:FETCH",
    "jira-issue-check": "handrail.steps.nodes.jira:ISSUE_CHECK",
    "llm-prompt": "handrail.steps.nodes.agents.llm_prompt",
    "local-script-check": "handrail.steps.nodes.programs:SCRIPT_CHECK",
    "notify": "handrail.steps.nodes.people.notify:NOTIFY",
    "plan-codex": "handrail.steps.nodes.agents.llm_prompt:PLAN",
    "planning-bundle": "handrail.steps.nodes.review:PLANNING_BUNDLE",
    "planning-questions-form": "handrail.steps.nodes.people.forms:PLANNING_QUESTIONS_FORM",
    "playbook-ensure": "handrail.steps.nodes.playbook:ENSURE",
    "playbook-inventory": "handrail.steps.nodes.playbook_inventory",
    "playbook-questions-form": "handrail.steps.nodes.playbook:QUESTIONS_FORM",
    "playbook-write": "handrail.steps.nodes.playbook:WRITE",
    "pr-open": "handrail.steps.nodes.forges.pull_request",
    "project-guidance": "handrail.steps.nodes.playbook:PROJECT_GUIDANCE",
    "propose": "handrail.steps.nodes.people.approvals:Propose",
    "read-file": "handrail.steps.nodes.files:READ_FILE",
    "review-findings-form": "handrail.steps.nodes.people.forms:REVIEW_FINDINGS_FORM",
    "review-verdict": "handrail.steps.nodes.review:REVIEW_VERDICT",
    "select-files-form": "handrail.steps.nodes.people.forms:SELECT_FILES_FORM",
    "set": "handrail.steps.nodes.basic:SET",
    "structured-summary": "handrail.steps.nodes.files:STRUCTURED_SUMMARY",
    "summary-file-load": "handrail.steps.nodes.files:SUMMARY_FILE_LOAD",
    "telegram-notify": "handrail.steps.nodes.people.notify:TELEGRAM_NOTIFY",
    "user-input": "handrail.steps.nodes.people.forms:USER_INPUT",
    "wait": "handrail.steps.nodes.basic:WAIT",
    "workflow-run": "handrail.steps.nodes.agents.workflow_run",
    "write-file": "handrail.steps.nodes.files:WRITE_FILE",
    "write-selection-file": "handrail.steps.nodes.review:WRITE_SELECTION_FILE",
}
AGENT_NODE = "handrail.steps.nodes.agents.llm_prompt"  # also makes the node `AGENT-prompt` of each executor


class Registry:
    """What is built in, and what the plugins of one project add.

    `find` searches for the plugins, when they are first needed. None if there are none.
    """

    def __init__(self, find: Callable[[], Plugins] | None = None) -> None:
        self._find = find
        self.forget()

    def forget(self) -> None:
        """Search for the plugins again when they are needed next. Other threads may use the registry meanwhile."""
        self._found: tuple[Plugins, ...] | None = None
        self._nodes: Mapping[str, NodeKind] | None = None
        self._tool_names: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        self._known_tools: frozenset[str] | None = None

    @property
    def _plugins(self) -> tuple[Plugins, ...]:
        plugins = self._found
        if plugins is None:
            self._found = plugins = () if self._find is None else (self._find(),)
        return plugins

    def _plugin(self, kind: str, name: str) -> Plugins:
        """The plugins, if they have a check, an engine or an agent with this name. Raises `KeyError` if not."""
        for more in self._plugins:
            if name in getattr(more, kind):
                return more
        raise KeyError(name)

    def version(self) -> str:
        """A text that changes if the plugins that are here change, or the checks that are built in."""
        return repr((CHECKS, [more.version for more in self._plugins]))

    def unusable(self, name: str) -> HandrailError | None:
        """Why something of a plugin with this name cannot be used now; None if it can, or if it is built in."""
        if name in NODES or name in CHECKS or name in AGENTS:
            return None
        return next((error for more in self._plugins if (error := more.error(name)) is not None), None)

    def refuse_unusable(self, names: Iterable[str]) -> None:
        """Raise the error of the first of these that is of a plugin which cannot be used now."""
        for name in dict.fromkeys(names):
            if (error := self.unusable(name)) is not None:
                raise error

    def schema_folders(self) -> dict[str, str]:
        """The folder with schemas of each plugin that has one, by its id."""
        return {id_: folder for more in self._plugins for id_, folder in more.folders("schemas")}

    def nodes(self) -> Mapping[str, NodeKind]:
        """All nodes: one per row, and one per executor. What they get was checked against their fields."""
        nodes = self._nodes
        if nodes is None:
            from functools import partial

            from handrail.extensions.lazy_mapping import LazyMapping

            rows: dict[str, Callable[[], NodeKind]] = {
                f"{agent}-prompt": partial(_one_agent_node, agent) for agent in self.executors()
            }
            rows |= {name: partial(self._node, name) for name in NODES}
            rows |= {name: partial(more.node, name) for more in self._plugins for name in more.nodes}
            self._nodes = nodes = LazyMapping(
                {name: partial(_with_checked_params, make) for name, make in sorted(rows.items())}
            )
        return nodes

    def _node(self, name: str) -> NodeKind:
        """A node that is built in. One that runs other nodes is made by `with_nodes`."""
        node: NodeKind = _part_of(NODES[name])
        return node.with_nodes(self.nodes()) if hasattr(node, "with_nodes") else node

    def check_names(self) -> list[str]:
        """All kinds of checks, in the order of the registry."""
        return [*CHECKS, *(name for more in self._plugins for name in more.checks)]

    def check_kind(self, name: str) -> CheckKind:
        """The module of a check. Raises `KeyError` if there is none."""
        kind: CheckKind = _part_of(CHECKS[name]) if name in CHECKS else self._plugin("checks", name).check(name)
        return kind

    def engine(self, name: str, site: Site) -> Engine:
        """The engine that stores the runs of a project. Raises `KeyError` if the name is unknown."""
        kind: EngineKind = _module(ENGINES[name]) if name in ENGINES else self._plugin("engines", name).engine(name)
        return kind.open_engine(site)

    def engines(self) -> list[str]:
        return [*ENGINES, *(name for more in self._plugins for name in more.engines)]

    def _agents(self) -> dict[str, Mapping[str, str]]:
        """All agents: name → part → module."""
        rows: dict[str, Mapping[str, str]] = dict(AGENTS)
        for more in self._plugins:
            rows |= more.agents
        return rows

    def _part(self, agent: str, part: str) -> Any:
        """A module of an agent. Raises `KeyError` if the agent is unknown or has no such part."""
        return _module(AGENTS[agent][part]) if agent in AGENTS else self._plugin("agents", agent).part(agent, part)

    def hosts(self) -> list[str]:
        """The agents that can call us."""
        return [name for name, row in self._agents().items() if "host" in row]

    def is_host(self, agent: str) -> bool:
        """True if an agent can call us. Searches for no plugin if it is built in."""
        return "host" in AGENTS.get(agent, ()) or ("/" in agent and agent in self.hosts())

    def host(self, agent: str) -> Host:
        """The host module of an agent. Raises `KeyError` if it has none, `HandrailError` if its plugin is unusable."""
        host: Host = self._part(agent, "host")
        return host

    def _usable_hosts(self) -> list[str]:
        """The agents that can call us, without those of plugins that cannot be used."""
        return [name for name in self.hosts() if self.unusable(name) is None]

    def installable(self) -> list[str]:
        """The agents that our stubs can be installed into: those that use links."""
        return [name for name in self.hosts() if self.is_installable(name)]

    def is_installable(self, agent: str) -> bool:
        return self.is_host(agent) and self.unusable(agent) is None and self.host(agent).LINKS

    def market(self, agent: str) -> Market:
        """The module of an agent that has marketplaces of plugins. Raises `KeyError` if it has none."""
        if agent not in self.markets():
            raise KeyError(agent)
        market: Market = self._recipes(agent)
        return market

    def markets(self) -> list[str]:
        """The agents that have marketplaces of plugins."""
        return [name for name in self._usable_hosts() if hasattr(self._recipes(name), "marketplace")]

    def installs(self, agent: str) -> Installs:
        """The module of an agent that has its recipe."""
        installs: Installs = self._recipes(agent)
        return installs

    def _recipes(self, agent: str) -> Any:
        return self._part(agent, "install" if "install" in AGENTS.get(agent, ()) else "host")

    def tool_names(self, agent: str) -> tuple[frozenset[str], frozenset[str]]:
        """The names of a host's tools in lists: of the tools that it has now, and of those of other versions."""
        names = self._tool_names.get(agent)
        if names is None:
            now, former = self.own_tools(agent) if self.unusable(agent) is None else ((), ())
            both = [frozenset[str]().union(*self._with_aliases(agent, tools)) for tools in (now, former)]
            self._tool_names[agent] = names = both[0], both[1]
        return names

    def _with_aliases(self, agent: str, tools: tuple[str, ...]) -> list[frozenset[str]]:
        """The names of each of these tools of a host."""
        aliases = self.host(agent).aliases if tools else None
        return [frozenset((tool, *aliases(tool))) for tool in tools] if aliases else []

    def own_tools(self, agent: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The tools of a host as it calls them: those that it has now, and those of other versions."""
        row = AGENTS[agent] if agent in AGENTS else self._agents()[agent]
        module = self._part(agent, "tools") if "tools" in row else None
        return (module.TOOLS, module.FORMER_TOOLS) if module is not None else ((), ())

    def tool_groups(self, agent: str) -> list[frozenset[str]]:
        """The names of each tool of a host, of all versions."""
        now, former = self.own_tools(agent)
        return self._with_aliases(agent, (*now, *former))

    def known_tools(self) -> frozenset[str]:
        """The names that lists may use for the tools of all hosts, of all versions."""
        tools = self._known_tools
        if tools is None:
            every = (names for name in self.hosts() for names in self.tool_names(name))
            self._known_tools = tools = frozenset().union(*every)
        return tools

    def executors(self) -> list[str]:
        """The agents that can run steps."""
        return [name for name, row in self._agents().items() if "executor" in row]

    def has_executor(self, agent: str) -> bool:
        """True if an agent can run steps: one of `executors`, or a named one such as `acp:NAME`."""
        return is_built_in(agent) or agent in self.executors()

    def executor_hint(self, agent: str) -> str:
        """What to write instead of the name of an agent that cannot run steps."""
        from handrail.source.suggestions import did_you_mean

        executors = self.executors()
        return did_you_mean(agent, executors) or f"known: {', '.join(executors)}"

    def executor(self, agent: str) -> Executor:
        """The executor module of an agent. Raises `KeyError` if it has none."""
        executor: Executor = self._part(_kind(agent), "executor")
        return executor

    def offline(self, agent: str) -> Offline:
        """The module that runs an agent offline. Raises `KeyError` if it has none."""
        offline: Offline = self._part(agent, "offline")
        return offline

    def signs(self) -> dict[str, Signs]:
        """How to recognise each agent, by its name."""
        return SIGNS | {name: signs for more in self._plugins for name, signs in more.signs.items()}


def built_in_nodes() -> list[str]:
    """The names of the nodes that no plugin may take."""
    return [*NODES, *(f"{agent}-prompt" for agent, row in AGENTS.items() if "executor" in row)]


def built_in_hosts() -> list[str]:
    """The agents that can call us, without those of plugins."""
    return [name for name, row in AGENTS.items() if "host" in row]


def is_built_in(agent: str) -> bool:
    """True if an agent can run steps, and comes with Handrail or is a named one such as `acp:NAME`."""
    return "executor" in AGENTS.get(_kind(agent), ())


def workflow_folders(env: Mapping[str, str], home: str) -> list[str]:
    """The user's folders in which agents have their own workflows."""
    rows = WORKFLOW_FOLDERS.values()
    return [f"{env.get(variable) or f'{home}/{folder}'}/workflows" for variable, folder in rows]


def _with_checked_params(make: Callable[[], NodeKind]) -> NodeKind:
    node: NodeKind = _module("handrail.extensions.contracts.node").with_checked_params(make())
    return node


def _one_agent_node(agent: str) -> NodeKind:
    node: NodeKind = _module(AGENT_NODE).fixed(agent)
    return node


def _kind(agent: str) -> str:
    """The row of an agent: of `acp:NAME` that of `acp`."""
    kind, _, name = agent.partition(":")
    return kind if kind == NAMED_AGENT and name and ":" not in name else agent


def _module(name: str) -> Any:
    """Import a module by its name. Importing `importlib` would take too long in a hook."""
    __import__(name)
    return sys.modules[name]


def _part_of(row: str) -> Any:
    """A module, or one of several nodes or checks of a module (`MODULE:NAME`)."""
    place, _, part = row.partition(":")
    return getattr(_module(place), part) if part else _module(place)
