"""AgentWeaver's `execution-routing.json`: named presets, and the routes of single flows."""

from __future__ import annotations

from typing import Any

from handrail.agentweaver.reading import Broken, object_of, read_object, text_of
from handrail.settings import DEFAULT, GROUPS, Route
from handrail.source.dataclasses import dataclass, field

FILE = "execution-routing.json"
MAX_BYTES = 4 * 1024 * 1024
VERSION = 1


@dataclass(frozen=True)
class Entry:
    """A set of routes by group, with `default`; or why it cannot be used."""

    routes: dict[str, Route] = field(default_factory=dict)
    why: str | None = None


@dataclass(frozen=True)
class Routing:
    """All that the file has. Flows are `built-in:ID`, `global:PATH` or `project-local:PATH`."""

    presets: dict[str, Entry]
    flows: dict[str, Entry]
    last_used: tuple[str, ...]


def read_routing(path: str) -> Routing:
    """The content of the file. Raises `Broken` if it cannot be used at all; a bad entry spoils no other."""
    data = read_object(path, MAX_BYTES)
    if data.get("version") != VERSION:
        raise Broken(f"has the version {data.get('version')!r}; version {VERSION} is known")
    presets = {name: _entry(entry) for name, entry in object_of(data, "namedPresets").items()}
    flows = {name: _entry(entry) for name, entry in object_of(data, "flowDefaults").items()}
    return Routing(presets, flows, tuple(object_of(data, "lastUsedByFlow")))


def _entry(data: Any) -> Entry:
    return routes_in(object_of(data, "routing") if isinstance(data, dict) else {})


def routes_in(routing: dict[str, Any]) -> Entry:
    """The routes of an object with a default route and groups."""
    default = _route(routing.get("defaultRoute"))
    if default is None:
        return Entry(why="it has no default route")
    found = {DEFAULT: default}
    for group, given in object_of(routing, "groups").items():
        route = _route(given)
        if group not in GROUPS or route is None:
            return Entry(why=f"its group `{group}` is not known or has no route")
        if route != default:
            found[group] = route
    return Entry(found)


def _route(data: Any) -> Route | None:
    agent = text_of(data, "executor") if isinstance(data, dict) else None
    return None if agent is None else Route(agent, text_of(data, "model"))
