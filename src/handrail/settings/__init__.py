"""Settings of the user and of the project, checked like definitions. The project's settings win.

The settings of a project come with the repository, so they must not run code or give an agent more rights. The only
exception is `worktree`: its commands run when a person asks for a worktree, like the commands of the project's flows.
Routes choose the agent and the model of a step: `routes.py`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Sequence
from typing import Any

from handrail import SETTINGS_FILE as FILE
from handrail.errors import DefinitionError
from handrail.process.logins import LOGINS
from handrail.settings.commands import read_check
from handrail.settings.keys import GROUPS as GROUPS
from handrail.settings.keys import LIMITS
from handrail.settings.keys import SETTINGS as SETTINGS
from handrail.settings.notify import Channel, read_notify
from handrail.settings.presets import shipped_presets as shipped_presets
from handrail.settings.prune import PruneSettings, read_prune
from handrail.settings.routes import DEFAULT as DEFAULT
from handrail.settings.routes import Route as Route
from handrail.settings.routes import RouteOverrides as RouteOverrides
from handrail.settings.routes import choose as choose
from handrail.settings.routes import parse_route as parse_route
from handrail.settings.rules import Effects, Rule, read_rules
from handrail.settings.worktree import WorktreeSettings, read_worktree
from handrail.source.agents import AcpAgent, read_agents
from handrail.source.dataclasses import dataclass, field, replace
from handrail.source.diagnostics import Diagnostic, of_file
from handrail.source.fields import Reader, found, limits, quoted
from handrail.source.files import Root, Unopened, decode
from handrail.source.plain import counted
from handrail.source.simpleyaml import read_yaml
from handrail.source.suggest import did_you_mean
from handrail.source.yamltree import Node


@dataclass(frozen=True)
class Settings:
    """The merged settings. `routes` may have a `default`; `flows` and `presets` hold routes by name.

    `secrets` and `not_secret` are patterns of variables' names; see `handrail.secrets.SecretRules`. `limit_places` says
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
    approve: tuple[Rule, ...] = ()
    agent_logins: bool = False
    acp: dict[str, AcpAgent] = field(default_factory=dict)
    worktree: WorktreeSettings = field(default_factory=WorktreeSettings)
    limit_places: dict[str, str] = field(default_factory=dict)
    check: tuple[str, ...] = ()
    notify: tuple[Channel, ...] | None = None


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
    first, more = wrong[0], f" (and {counted(len(wrong) - 1, 'more error')})" if len(wrong) > 1 else ""
    place = f"{first.file}:{first.line}:{first.column}"
    raise DefinitionError(f"the settings have an error{more}: {place}: {first.message}", first.hint)


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
    opened = Root(folder).open(folder, FILE)
    if isinstance(opened, Unopened):
        problems.append(of_file(opened.code, path, opened.message, opened.hint))
        return settings
    source, wrong = decode(path, opened.data)
    problems.extend(wrong)
    tree, troubles = read_yaml(source.text)
    problems.extend(source.problem(t.code, (t.line, t.column, t.width), t.message, t.hint) for t in troubles)
    if wrong or tree is None:
        return settings
    if tree.kind != "mapping":
        message = f"`{FILE}` has to be `key: value` lines, found {found(tree)}"
        hint = "begin with a key: `idleStops: 3`"
        problems.append(source.problem("not-mapping", (tree.line, tree.column, tree.width), message, hint))
        return settings
    reader = Reader(source, tree, SETTINGS, problems.append)
    settings = _with_secrets(reader, settings, may_except=is_user)
    settings = _apply(reader, settings, agents, is_user=is_user)
    own = {name: _of_user(reader, name, is_user=is_user) for name in ("prune", "approve", "agentLogins", "notify")}
    rules = read_rules(reader, own["approve"], effects) if own["approve"] is not None else settings.approve
    logins = bool(own["agentLogins"].value) if own["agentLogins"] is not None else settings.agent_logins
    prune = read_prune(reader, own["prune"], settings.prune)
    notify = read_notify(reader, own["notify"]) if own["notify"] is not None else settings.notify
    acp = read_agents(reader, settings.acp, is_user=is_user)
    worktree = read_worktree(reader, settings.worktree, is_user=is_user)
    settings = replace(settings, prune=prune, acp=acp, worktree=worktree, notify=notify)
    return replace(settings, approve=rules, agent_logins=logins)


def _of_user(reader: Reader, name: str, *, is_user: bool) -> Node | None:
    """A setting that only the user may decide: the settings of a project come with the repository."""
    node = reader.child(name)
    if node is not None and not is_user:
        reader.on(node, "bad-value", f"`{name}` can be set only in the user's settings", "remove it here")
        return None
    return node


def _apply(reader: Reader, settings: Settings, agents: Agents, *, is_user: bool) -> Settings:
    settings = replace(
        settings,
        idle_stops=_read_count(reader, "idleStops", settings.idle_stops),
        reminders=_read_count(reader, "reminders", settings.reminders),
        same_failures=_read_count(reader, "sameFailures", settings.same_failures),
    )
    if settings.same_failures == 1:
        message = "`sameFailures` has to be 0, or 2 or more, found `1`"
        reader.on(reader.node.value["sameFailures"], "bad-value", message, "write `sameFailures: 3`")
    routes, presets, flows = reader.child("routes"), reader.child("presets"), reader.child("flows")
    agent, names = reader.child("agent"), reader.child("passEnv")
    found = dict(settings.routes)
    if agent is not None:
        found |= _read_routes(reader, agent._replace(kind="mapping", value={DEFAULT: agent}, keys={}), agents)
    if routes is not None:
        found |= _read_routes(reader, routes, agents)
    passed = _read_names(reader, names, is_user=is_user)
    return replace(
        settings,
        routes=found,
        presets={**settings.presets, **_read_route_sets(reader, presets, agents)},
        flows={**settings.flows, **_read_route_sets(reader, flows, agents)},
        pass_env=(*settings.pass_env, *passed),
        engine=reader.text("engine") or settings.engine,
        **_read_limits(reader, settings),
        check=read_check(reader, settings.check),
    )


def _read_limits(reader: Reader, before: Settings) -> dict[str, Any]:
    """The limits of a run, and where they are. A project must not allow more than the user: the lower one holds."""
    node, now, places = reader.child("limits"), dict(before.limits), dict(before.limit_places)
    for name, child in node.value.items() if node is not None else ():
        limit = LIMITS.by_name.get(name)
        if limit is None:
            hint = did_you_mean(name, LIMITS.by_name) or f"its keys: {', '.join(LIMITS.by_name)}"
            reader.on(child, "unknown-key", f"`limits` has no key `{name}`", hint)
        elif child.kind not in limit.kinds or not 0 < child.value < math.inf:
            what = "whole number" if limit.kinds == ("integer",) else "number"
            reader.on(child, "bad-value", f"`{name}` has to be a {what} above 0, found {quoted(child)}", None)
        elif child.value < now.get(name, math.inf):
            now[name], places[name] = child.value, f"{_shown(reader.source.file)}:{child.line}"
    return {"limits": now, "limit_places": places}


def _shown(file: str) -> str:
    """The settings file of a project by its path in the project, that of the user by its whole path."""
    folder, name = os.path.split(file)
    return f".handrail/{name}" if os.path.basename(folder) == ".handrail" else file


def _read_names(reader: Reader, node: Node | None, *, is_user: bool) -> list[str]:
    """The names of variables. Patterns are not allowed, because one pattern could match all secrets.

    A project must not give the login of a forge to agents.
    """
    found_: list[str] = []
    for item in node.value if node is not None else ():
        if item.kind != "text" or not item.value.isidentifier():
            message = f"an item of `passEnv` has to be the name of a variable, found {quoted(item)}"
            reader.on(item, "bad-value", message, "write the full name; patterns are not allowed")
        elif item.value in LOGINS and not is_user:
            message = f"a project must not pass {quoted(item)} to agents: it is a login of the user"
            reader.on(item, "bad-value", message, "write it in your own settings file, or let Handrail's nodes use it")
        else:
            found_.append(item.value)
    return found_


def _with_secrets(reader: Reader, settings: Settings, *, may_except: bool) -> Settings:
    """The settings with the names in `secrets`. A project may add names, but it must not except any."""
    node = reader.child("secrets")
    names: dict[str, tuple[str, ...]] = {"add": (), "except": ()}
    for key, child in node.value.items() if node is not None else ():
        if key not in names:
            hint = did_you_mean(key, names) or "write `add: [NAME]` or `except: [NAME]`"
            reader.on(child, "unknown-key", f"`secrets` has no key `{key}`", hint)
        elif key == "except" and not may_except:
            message = "a project must not except names from the secrets"
            reader.on(child, "bad-value", message, "write `except` in your own settings file, or rename the variable")
        else:
            names[key] = _read_patterns(reader, child, key)
    return replace(
        settings,
        secrets=(*settings.secrets, *names["add"]),
        not_secret=(*settings.not_secret, *names["except"]),
    )


def _read_patterns(reader: Reader, node: Node, key: str) -> tuple[str, ...]:
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


def _read_count(reader: Reader, name: str, before: int) -> int:
    count, field_ = reader.integer(name), reader.shape.by_name[name]
    if count is None or field_.least is None or field_.most is None:
        return before
    if not field_.least <= count <= field_.most:
        node = reader.node.value[name]
        message = f"`{name}` has to be {limits(field_)}, found {quoted(node)}"
        reader.on(node, "bad-value", message, f"`{name}` means: {field_.about}")
        return before
    return count


def _read_route_sets(reader: Reader, node: Node | None, agents: Agents) -> dict[str, dict[str, str]]:
    return {} if node is None else {name: _read_routes(reader, child, agents) for name, child in node.value.items()}


def _read_routes(reader: Reader, node: Node, agents: Agents) -> dict[str, str]:
    """The routes by group. Reports each invalid route at its place."""
    if node.kind != "mapping":
        reader.on(node, "wrong-type", f"routes have to be a mapping, found {found(node)}", "write `GROUP: AGENT:MODEL`")
        return {}
    routes: dict[str, str] = {}
    for group, child in node.value.items():
        if group not in (*GROUPS, DEFAULT):
            hint = did_you_mean(group, (*GROUPS, DEFAULT)) or f"groups: {', '.join((*GROUPS, DEFAULT))}"
            line, column = node.keys[group]
            place = (line, column, reader.key_width(group, line, column))
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
