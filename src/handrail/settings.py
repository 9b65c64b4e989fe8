"""Settings of a user and of a project, read with the same care as definitions. The project's win.

A project's settings come with the repository, so nothing here may run code or widen what an agent may do. Part of
them says which agent and which model a step is given to.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from handrail.source.diagnostics import Diagnostic, of_file
from handrail.source.fields import Field, Reader, found, quoted, shape
from handrail.source.files import Root, Unopened, decode
from handrail.source.suggest import did_you_mean
from handrail.source.yamltree import Node, parse

FILE = "settings.yaml"
GROUPS = ("planning", "design-review", "implementation", "review", "repair-loop", "local-fix-loop")
DEFAULT = "default"
Own = tuple[str | None, str | None]
MAX_IDLE_STOPS = 7  # hosts themselves give up after eight
_ROUTES = {
    "type": "object",
    "properties": {group: {"type": "string"} for group in (*GROUPS, DEFAULT)},
    "additionalProperties": False,
}
_NESTED = {"type": "object", "additionalProperties": _ROUTES}
_NAMES = {"type": "array", "items": {"type": "string"}}
SETTINGS = shape(
    "settings.yaml",
    "How Handrail behaves in this project, or for this user.",
    Field(
        "idleStops", ("integer",), "how often an agent that makes no progress is sent on before it may stop", default=3
    ),
    Field("agent", ("text",), "who steps are given to that name no agent: `AGENT` or `AGENT:MODEL`"),
    Field("routes", ("mapping",), "who the steps of a group are given to: `review: AGENT:MODEL`", schema=_ROUTES),
    Field("presets", ("mapping",), "named sets of routes, for `--preset NAME`", schema=_NESTED),
    Field("flows", ("mapping",), "routes of single flows, by their id", schema=_NESTED),
    Field("passEnv", ("list",), "further environment variables that agents may see, by name", schema=_NAMES),
    Field("engine", ("text",), "what keeps and drives runs of flows", default="embedded"),
)


@dataclass(frozen=True)
class Settings:
    """What holds here. `routes` may have a `default`; `flows` and `presets` are sets of routes by name."""

    idle_stops: int = 3
    routes: dict[str, str] = field(default_factory=dict)
    presets: dict[str, dict[str, str]] = field(default_factory=dict)
    flows: dict[str, dict[str, str]] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    engine: str = "embedded"


def read_settings(config: str, project: str) -> tuple[Settings, list[Diagnostic]]:
    """The settings of the user's `config` folder and of the project, and what is wrong in their files."""
    problems: list[Diagnostic] = []
    settings = Settings()
    for folder in (config, os.path.join(project, ".handrail")):
        settings = _read(folder, settings, problems)
    return settings, problems


def _read(folder: str, settings: Settings, problems: list[Diagnostic]) -> Settings:
    path = os.path.join(folder, FILE)
    if not os.path.lexists(path):
        return settings
    opened = Root(folder).open(folder, FILE)
    if isinstance(opened, Unopened):
        problems.append(of_file(opened.code, path, opened.message, opened.hint))
        return settings
    source, wrong = decode(path, opened.data)
    problems.extend(wrong)
    tree, troubles = parse(source.text)
    problems.extend(source.problem(t.code, (t.line, t.column, t.width), t.message, t.hint) for t in troubles)
    if wrong or tree is None:
        return settings
    if tree.kind != "mapping":
        message = f"`{FILE}` has to be `key: value` lines, found {found(tree)}"
        hint = "begin with a key: `idleStops: 3`"
        problems.append(source.problem("not-mapping", (tree.line, tree.column, tree.width), message, hint))
        return settings
    return _take(Reader(source, tree, SETTINGS, problems.append), settings)


def _take(reader: Reader, settings: Settings) -> Settings:
    settings = replace(settings, idle_stops=_stops(reader, settings.idle_stops))
    routes, presets, flows = reader.child("routes"), reader.child("presets"), reader.child("flows")
    agent, names = reader.child("agent"), reader.child("passEnv")
    found = dict(settings.routes)
    if agent is not None:
        found |= _routes(reader, agent._replace(kind="mapping", value={DEFAULT: agent}, keys={}))
    if routes is not None:
        found |= _routes(reader, routes)
    passed = _names(reader, names)
    return replace(
        settings,
        routes=found,
        presets={**settings.presets, **_sets(reader, presets)},
        flows={**settings.flows, **_sets(reader, flows)},
        pass_env=(*settings.pass_env, *passed),
        engine=reader.text("engine") or settings.engine,
    )


def _names(reader: Reader, node: Node | None) -> list[str]:
    """Names of variables; a pattern could mean every secret that there is."""
    found_: list[str] = []
    for item in node.value if node is not None else ():
        if item.kind != "text" or not item.value.isidentifier():
            message = f"`passEnv` holds names of variables, found {quoted(item)}"
            reader.on(item, "bad-value", message, "write each name in full")
        else:
            found_.append(item.value)
    return found_


def _stops(reader: Reader, before: int) -> int:
    stops = reader.integer("idleStops")
    if stops is None:
        return before
    if not 0 <= stops <= MAX_IDLE_STOPS:
        node = reader.node.value["idleStops"]
        about = reader.shape.by_name["idleStops"].about
        message = f"`idleStops` has to be between 0 and {MAX_IDLE_STOPS}, found {quoted(node)}"
        reader.on(node, "bad-value", message, f"write {about}")
        return before
    return stops


def _sets(reader: Reader, node: Node | None) -> dict[str, dict[str, str]]:
    return {} if node is None else {name: _routes(reader, child) for name, child in node.value.items()}


def _routes(reader: Reader, node: Node) -> dict[str, str]:
    """Routes by group. What is wrong with one is told at its place."""
    if node.kind != "mapping":
        reader.on(node, "wrong-type", f"routes have to be a mapping, found {found(node)}", "write `GROUP: AGENT:MODEL`")
        return {}
    routes: dict[str, str] = {}
    for group, child in node.value.items():
        if group not in (*GROUPS, DEFAULT):
            hint = did_you_mean(group, (*GROUPS, DEFAULT)) or f"groups: {', '.join((*GROUPS, DEFAULT))}"
            reader.on(child, "bad-value", f"there is no group `{group}`", hint)
        elif child.kind != "text" or not child.value.partition(":")[0].strip():
            message = f"a route has to be `AGENT` or `AGENT:MODEL`, found {quoted(child)}"
            reader.on(child, "bad-value", message, f"write `{group}: AGENT`")
        else:
            routes[group] = child.value
    return routes


@dataclass(frozen=True)
class Route:
    agent: str
    model: str | None = None

    def __str__(self) -> str:
        return self.agent if self.model is None else f"{self.agent}:{self.model}"


@dataclass(frozen=True)
class AgentChoice:
    """The agent that a person chose on the command line: for every step, or for the steps of a group."""

    agent: str | None = None
    model: str | None = None
    routes: Mapping[str, str] = field(default_factory=dict)


def parse_route(text: str) -> Route:
    """`AGENT` or `AGENT:MODEL`; a model's name may hold colons itself."""
    agent, _, model = text.partition(":")
    if not agent.strip():
        raise ValueError(f"`{text}` names no agent")
    return Route(agent.strip(), model.strip() or None)


def choose(
    choice: AgentChoice, table: Mapping[str, str], group: str | None, own: tuple[str | None, str | None]
) -> Route | None:
    """The route of a step. `table` has routes by group and perhaps a default; `own` is what the step says."""
    if group is not None and group in choice.routes:
        return parse_route(choice.routes[group])
    if DEFAULT in choice.routes and choice.agent is None:
        return parse_route(choice.routes[DEFAULT])
    found = _found(table, group, own)
    if choice.agent is not None:
        return Route(choice.agent, choice.model)
    if found is None or choice.model is None:
        return found
    return replace(found, model=choice.model)


def _found(table: Mapping[str, str], group: str | None, own: Own) -> Route | None:
    if group is not None and group in table:
        return parse_route(table[group])
    if own[0] is not None:
        return Route(own[0], own[1])
    if DEFAULT in table:
        default = parse_route(table[DEFAULT])
        return default if own[1] is None else replace(default, model=own[1])
    return None
