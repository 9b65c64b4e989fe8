"""Settings of the user and of the project, checked like definitions. The project's settings win.

The reader, the JSON Schema and the reference page come from one table of keys. The settings of a project come with
the repository, so they must not run code or give an agent more rights. The only exception is `worktree`: its commands
run when a person asks for a worktree, like the commands of the project's flows.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from handrail import SETTINGS_FILE as FILE
from handrail import strictest_policy
from handrail.base.dataclasses import dataclass, field, replace
from handrail.base.errors import DefinitionError
from handrail.settings import sections
from handrail.settings.environment import LOGINS
from handrail.settings.routes import DEFAULT
from handrail.settings.sections import AcpAgent, ApprovalRule, Channel, Effects, PruneSettings, WorktreeSettings
from handrail.source.definition_files import Root, UnopenedFile, decode
from handrail.source.diagnostics import Diagnostic, file_problem
from handrail.source.field_checks import check_bounds
from handrail.source.fields import NOT_BLANK, Field, MappingReader, found, json_schema, quoted, shape
from handrail.source.plain_text import counted
from handrail.source.suggestions import did_you_mean
from handrail.source.tree import TreeNode
from handrail.source.yaml_text import read_yaml

GROUPS = {
    "planning": "steps that plan, describe a task or ask about it",
    "design-review": "steps that review a plan",
    "implementation": "steps that write code",
    "review": "steps that review or describe a change",
    "repair-loop": "steps that fix what a review found",
    "local-fix-loop": "steps that fix what a check found",
}
"""The groups of steps, and what belongs to each."""
MAX_IDLE_STOPS = 7  # hosts give up after eight
_ROUTE = {"type": "string", "pattern": r"^\s*[^:\s]"}
_ROUTES = {
    "type": "object",
    "properties": {
        **{group: {**_ROUTE, "description": f"the agent for {about}"} for group, about in GROUPS.items()},
        DEFAULT: {**_ROUTE, "description": "the agent for steps of no group, and of groups that are not here"},
    },
    "additionalProperties": False,
}
_NESTED = {"type": "object", "additionalProperties": _ROUTES}
_VARIABLES = {"type": "array", "items": {"type": "string", "pattern": "^[^0-9\\W]\\w*$"}}
_PATTERNS = {"type": "array", "items": {"type": "string", "pattern": r"^[^ =$]*[^ =$\s][^ =$]*$"}}
SECRETS = shape(
    "secrets",
    "Which environment variables hold secrets.",
    Field("add", ("list",), "names or patterns of variables that hold secrets", schema=_PATTERNS),
    Field("except", ("list",), "only in the user's settings: variables that hold no secrets", schema=_PATTERNS),
)
LIMITS = shape(
    "limits",
    "What a run may use at most.",
    Field("usd", ("integer", "number"), "the cost of all agents, in US dollars", above=0, examples=(5,)),
    Field("minutes", ("integer", "number"), "the time of the run, in minutes", above=0, examples=(60,)),
    Field("tokens", ("integer",), "the tokens of all agents", above=0, examples=(2_000_000,)),
)
SETTINGS = shape(
    "settings.yaml",
    "How Handrail behaves in this project, or for this user.",
    Field(
        "idleStops",
        ("integer",),
        "how often an agent that makes no progress is told to continue before it may stop",
        default=3,
        least=0,
        most=MAX_IDLE_STOPS,
    ),
    Field(
        "reminders",
        ("integer",),
        "how often an agent is told to continue in one phase, even if it works in between, before it may stop",
        default=12,
        least=0,
        most=100,
    ),
    Field(
        "sameFailures",
        ("integer",),
        "how often in a row a check may fail in the same way while an agent works on it; then a repeat of a flow ends, "
        "and the agent in a workflow is told. 0: never. A repeat may say otherwise",
        default=3,
        least=0,
        most=100,
        schema={"type": "integer", "minimum": 0, "maximum": 100, "not": {"const": 1}},
    ),
    sections.CANCEL_FIELD,
    Field("agent", ("text",), "the agent for steps that name no agent: `AGENT` or `AGENT:MODEL`", schema=_ROUTE),
    sections.ACP_FIELD,
    Field("routes", ("mapping",), "the agent per group of steps: `review: AGENT:MODEL`", schema=_ROUTES),
    Field("presets", ("mapping",), "named sets of routes, for `--preset NAME`", schema=_NESTED),
    Field("flows", ("mapping",), "routes per flow, by flow id", schema=_NESTED),
    Field(
        "passEnv",
        ("list",),
        "names of additional environment variables that agents may see",
        schema=_VARIABLES,
        examples=(["JAVA_HOME"],),
    ),
    Field(
        "secrets",
        ("mapping",),
        "which environment variables hold secrets: `add: [NAME]` and `except: [NAME]`, by name or pattern (`SONAR_*`). "
        "`except` works only in the user's settings",
        schema=lambda: json_schema(SECRETS),
        examples=({"add": ["SONAR_*"]},),
    ),
    Field(
        "prune",
        ("mapping",),
        "only in the user's settings: what `handrail run` removes first: `{olderThan: 30d, keep: 100}`",
        schema=lambda: {**json_schema(sections.PRUNE_SHAPE), "minProperties": 1},
        examples=({"olderThan": "30d", "keep": 100},),
    ),
    Field(
        "limits",
        ("mapping",),
        "what a run may use at most: `{usd: 5, minutes: 60, tokens: 2000000}`. If the settings of the user and "
        "of the project both have one, the lower one holds. `--max-usd`, `--max-minutes` and "
        "`--max-tokens` win over them",
        schema=lambda: json_schema(LIMITS),
        examples=({"usd": 5, "minutes": 60},),
    ),
    Field(
        "check",
        ("text", "list"),
        "the command that checks the project, for flows that need one: `make test` or `[make, test]`; no shell runs it",
        schema={
            "anyOf": [
                {"type": "string", "pattern": NOT_BLANK},
                {"type": "array", "items": {"type": "string"}, "minItems": 1},
            ]
        },
        examples=("make test", ["make", "test"]),
    ),
    Field(
        "approve",
        ("list",),
        "only in the user's settings: effects that `propose` may do, and questions that `approve` may pass, without "
        "asking a person: `git-push`, or `{effect: git-push, where: {branch: handrail/*}}`",
        schema=sections.rules_schema,
        examples=(["git-push"], [{"effect": "git-push", "where": {"branch": "handrail/*"}}]),
    ),
    Field(
        "agentLogins",
        ("boolean",),
        "only in the user's settings: agents that runs start get your logins of git, GitHub and GitLab",
        default=False,
    ),
    sections.NOTIFY_FIELD,
    sections.WORKTREE_FIELD,
    Field("engine", ("text",), "the engine that stores and runs flows", default="embedded"),
)


def read_check(reader: MappingReader, before: tuple[str, ...]) -> tuple[str, ...]:
    """The command that checks the project, as words."""
    if (node := reader.child("check")) is None:
        return before
    try:
        words = shlex.split(node.value) if node.kind == "text" else [part.value for part in node.value]
    except ValueError:
        words = []
    if not words or words[0] == "" or not all(isinstance(word, str) for word in words):
        message = f"`check` has to be a command, found {found(node)}"
        reader.on(node, "bad-value", message, "write `check: make test`, or `check: [make, test]`")
        return before
    return tuple(words)


def settings_schema(agents: Iterable[str]) -> dict[str, Any]:
    """The schema. The agents are examples and no choices: a route may have a model, and users may add agents."""
    schema = json_schema(SETTINGS)
    keys, examples = schema["properties"], {"examples": list(agents)}
    keys["agent"] |= examples
    keys["routes"] = _with_examples(keys["routes"], examples)
    for name in ("presets", "flows"):
        keys[name]["additionalProperties"] = _with_examples(keys[name]["additionalProperties"], examples)
    return schema


def _with_examples(routes: dict[str, Any], examples: dict[str, Any]) -> dict[str, Any]:
    return {**routes, "properties": {name: route | examples for name, route in routes["properties"].items()}}


@dataclass(frozen=True)
class Settings:
    """The merged settings. `routes` may have a `default`; `flows` and `presets` hold routes by name.

    `secrets` and `not_secret` are patterns of variables' names; see `settings.secrets.SecretRules`. `limit_places` says
    where each limit is: `FILE:LINE`. `notify` is None if the user chose no channels.
    """

    idle_stops: int = 3
    routes: dict[str, str] = field(default_factory=dict)
    presets: dict[str, dict[str, str]] = field(default_factory=dict)
    flows: dict[str, dict[str, str]] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    not_secret: tuple[str, ...] = ()
    engine: str = "embedded"
    reminders: int = 12
    same_failures: int = 3
    prune: PruneSettings | None = None
    limits: dict[str, float] = field(default_factory=dict)
    approve: tuple[ApprovalRule, ...] = ()
    agent_logins: bool = False
    acp: dict[str, AcpAgent] = field(default_factory=dict)
    worktree: WorktreeSettings = field(default_factory=WorktreeSettings)
    limit_places: dict[str, str] = field(default_factory=dict)
    check: tuple[str, ...] = ()
    notify: tuple[Channel, ...] | None = None
    cancel: str = ""


Agents = Collection[str] | None


def read_settings(
    config: str, project: str, agents: Agents = None, effects: Effects | None = None
) -> tuple[Settings, list[Diagnostic]]:
    """The settings from the user's `config` folder and from the project, and the problems in their files.

    `agents` are the agents that routes may name, `effects` those that rules may approve; None if they are not checked.
    """
    problems: list[Diagnostic] = []
    settings = _read(config, Settings(), problems, agents, effects, is_user=True)
    return _read(os.path.join(project, ".handrail"), settings, problems, agents, is_user=False), problems


def refuse_errors(problems: Sequence[Diagnostic]) -> None:
    """No work begins with settings that have errors: a limit or the name of a secret may be in the part not read."""
    wrong = [problem for problem in problems if problem.severity == "error"]
    if not wrong:
        return
    error, suffix = wrong[0], f" (and {counted(len(wrong) - 1, 'more error')})" if len(wrong) > 1 else ""
    place = f"{error.file}:{error.line}:{error.column}"
    raise DefinitionError(f"the settings have an error{suffix}: {place}: {error.message}", error.hint)


def read_user_settings(config: str) -> Settings:
    """The settings of the user alone, as far as they are valid."""
    return _read(config, Settings(), [], None, is_user=True)


def _read(
    folder: str,
    settings: Settings,
    problems: list[Diagnostic],
    agents: Agents,
    effects: Effects | None = None,
    *,
    is_user: bool,
) -> Settings:
    path = os.path.join(folder, FILE)
    if not os.path.lexists(path):
        return settings
    file = Root(folder).open(folder, FILE)
    if isinstance(file, UnopenedFile):
        problems.append(file_problem(file.code, path, file.message, file.hint))
        return settings
    source, wrong = decode(path, file.data)
    problems.extend(wrong)
    tree, troubles = read_yaml(source.text)
    problems.extend(source.problem(t.code, t.place, t.message, t.hint) for t in troubles)
    if wrong or tree is None:
        return settings
    if tree.kind != "mapping":
        message = f"`{FILE}` has to be `key: value` lines, found {found(tree)}"
        hint = "begin with a key: `idleStops: 3`"
        problems.append(source.problem("not-mapping", tree.place, message, hint))
        return settings
    reader = MappingReader(source, tree, SETTINGS, problems.append)
    return replace(settings, **_changes(reader, settings, agents, effects, is_user=is_user))


def _changes(
    reader: MappingReader, before: Settings, agents: Agents, effects: Effects | None, *, is_user: bool
) -> dict[str, Any]:
    """The values of one file, by the names of the attributes of `Settings`."""

    def of_user(name: str, why: str = "") -> TreeNode | None:
        """A setting that only the user may decide: the settings of a project come with the repository."""
        node = reader.child(name)
        if node is not None and not is_user:
            message = f"`{name}` can be set only in the user's settings{why}"
            reader.on(node, "bad-value", message, "remove it here, or write it in your own settings file")
        return node if is_user else None

    logins, agent = of_user("agentLogins"), reader.child("agent")
    agents_of_user = of_user(sections.ACP_FIELD.name, ": a project must not choose a program")
    default = agent and agent._replace(kind="mapping", value={DEFAULT: agent}, keys={})
    return {
        **_read_secrets(reader, before, may_except=is_user),
        "idle_stops": _read_count(reader, "idleStops", before.idle_stops),
        "reminders": _read_count(reader, "reminders", before.reminders),
        "same_failures": _read_same_failures(reader, before.same_failures),
        "cancel": strictest_policy(before.cancel, reader.text("cancel") or ""),
        "routes": {
            **before.routes,
            **_read_routes(reader, default, agents),
            **_read_routes(reader, reader.child("routes"), agents),
        },
        "presets": {**before.presets, **_read_route_sets(reader, "presets", agents)},
        "flows": {**before.flows, **_read_route_sets(reader, "flows", agents)},
        "pass_env": (*before.pass_env, *_read_names(reader, is_user=is_user)),
        "engine": reader.text("engine") or before.engine,
        **_read_limits(reader, before),
        "check": read_check(reader, before.check),
        "agent_logins": before.agent_logins if logins is None else bool(logins.value),
        "prune": sections.read_prune(reader, of_user("prune"), before.prune),
        "approve": sections.read_rules(reader, of_user("approve"), effects, before.approve),
        "notify": sections.read_notify(reader, of_user("notify"), before.notify),
        "acp": sections.read_acp_agents(reader, agents_of_user, before.acp),
        "worktree": sections.read_worktree(reader, before.worktree, is_user=is_user),
    }


def _read_limits(reader: MappingReader, before: Settings) -> dict[str, Any]:
    """The limits of a run, and where they are. A project must not allow more than the user: the lower one holds."""
    now, places = dict(before.limits), dict(before.limit_places)
    for name, child in sections.known_entries(reader, reader.child("limits"), LIMITS.by_name, "`limits`"):
        limit = LIMITS.by_name[name]
        if child.kind not in limit.kinds or not 0 < child.value < math.inf:
            what = "whole number" if limit.kinds == ("integer",) else "number"
            reader.on(child, "bad-value", f"`{name}` has to be a {what} above 0, found {quoted(child)}", None)
        elif child.value < now.get(name, math.inf):
            now[name], places[name] = child.value, f"{_file_label(reader.source.file)}:{child.line}"
    return {"limits": now, "limit_places": places}


def _file_label(file: str) -> str:
    """The settings file of a project by its path in the project, that of the user by its whole path."""
    folder, name = os.path.split(file)
    return f".handrail/{name}" if os.path.basename(folder) == ".handrail" else file


def _read_names(reader: MappingReader, *, is_user: bool) -> list[str]:
    """The names of variables. Patterns are not allowed, because one pattern could match all secrets.

    A project must not give the login of a forge to agents.
    """
    node = reader.child("passEnv")
    names: list[str] = []
    for item in node.value if node is not None else ():
        if item.kind != "text" or not item.value.isidentifier():
            message = f"an item of `passEnv` has to be the name of a variable, found {quoted(item)}"
            reader.on(item, "bad-value", message, "write the full name; patterns are not allowed")
        elif item.value in LOGINS and not is_user:
            message = f"a project must not pass {quoted(item)} to agents: it is a login of the user"
            reader.on(item, "bad-value", message, "write it in your own settings file, or let Handrail's nodes use it")
        else:
            names.append(item.value)
    return names


def _read_secrets(reader: MappingReader, before: Settings, *, may_except: bool) -> dict[str, tuple[str, ...]]:
    """The names in `secrets`. A project may add names, but it must not except any."""
    names = {"add": before.secrets, "except": before.not_secret}
    example = "write `add: [NAME]` or `except: [NAME]`"
    for key, child in sections.known_entries(reader, reader.child("secrets"), SECRETS.by_name, "`secrets`", example):
        if key == "except" and not may_except:
            message = "a project must not except names from the secrets"
            reader.on(child, "bad-value", message, "write `except` in your own settings file, or rename the variable")
        else:
            names[key] += _read_patterns(reader, child, key)
    return {"secrets": names["add"], "not_secret": names["except"]}


def _read_patterns(reader: MappingReader, node: TreeNode, key: str) -> tuple[str, ...]:
    """Names of variables, or patterns of names."""
    if node.kind != "list":
        message = f"`{key}` has to be a list of names, found {found(node)}"
        reader.on(node, "wrong-type", message, f"write `{key}: [NAME]`")
        return ()
    patterns: list[str] = []
    for item in node.value:
        if item.kind == "text" and item.value.strip() and not any(char in item.value for char in " =$"):
            patterns.append(item.value)
        else:
            message = f"an item of `{key}` has to be the name of a variable or a pattern, found {quoted(item)}"
            reader.on(item, "bad-value", message, "write `NAME` or `PREFIX_*`")
    return tuple(patterns)


def _read_count(reader: MappingReader, name: str, before: int) -> int:
    node = reader.child(name)
    is_usable = node is not None and check_bounds(reader, reader.shape.by_name[name], node)
    return int(node.value) if node is not None and is_usable else before


def _read_same_failures(reader: MappingReader, before: int) -> int:
    count = _read_count(reader, "sameFailures", before)
    if count != 1:
        return count
    message = "`sameFailures` has to be 0, or 2 or more, found `1`"
    reader.on(reader.node.value["sameFailures"], "bad-value", message, "write `sameFailures: 3`")
    return before


def _read_route_sets(reader: MappingReader, name: str, agents: Agents) -> dict[str, dict[str, str]]:
    node = reader.child(name)
    return {} if node is None else {key: _read_routes(reader, child, agents) for key, child in node.value.items()}


def _read_routes(reader: MappingReader, node: TreeNode | None, agents: Agents) -> dict[str, str]:
    """The routes by group. Reports each invalid route at its place."""
    if node is None:
        return {}
    if node.kind != "mapping":
        reader.on(node, "wrong-type", f"routes have to be a mapping, found {found(node)}", "write `GROUP: AGENT:MODEL`")
        return {}
    routes: dict[str, str] = {}
    for group, child in node.value.items():
        if group not in (*GROUPS, DEFAULT):
            hint = did_you_mean(group, (*GROUPS, DEFAULT)) or f"groups: {', '.join((*GROUPS, DEFAULT))}"
            place = reader.source.key_place(group, node.keys[group])
            reader.at(place, "bad-value", f"there is no group `{group}`", hint)
        elif child.kind != "text" or not child.value.partition(":")[0].strip():
            message = f"a route has to be `AGENT` or `AGENT:MODEL`, found {quoted(child)}"
            reader.on(child, "bad-value", message, f"write `{group}: AGENT`")
        else:
            routes[group] = child.value
            agent = child.value.partition(":")[0].strip()
            if agents is not None and agent not in agents:
                hint = did_you_mean(agent, agents) or f"known: {', '.join(agents)}"
                reader.on(child, "bad-value", f"there is no agent `{agent}`", hint)
    return routes
