"""Routes: which agent and which model gets a step. Presets are named sets of routes.

Also writes routes into the user's settings file; everything else in it stays as it is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import handrail
from handrail import NAMED_AGENT, SETTINGS_FILE
from handrail.base.dataclasses import dataclass, field, replace
from handrail.base.errors import RefusedError, UsageError
from handrail.base.files import make_private, mode_of, write_whole
from handrail.source.plain_text import some
from handrail.source.suggestions import did_you_mean
from handrail.source.yaml_text import entry_lines, put_entry

DEFAULT = "default"
OwnRoute = tuple[str | None, str | None]


@dataclass(frozen=True)
class Route:
    agent: str
    model: str | None = None

    def __str__(self) -> str:
        return self.agent if self.model is None else f"{self.agent}:{self.model}"


@dataclass(frozen=True)
class RouteOverrides:
    """The agent and model that the user chose when starting a run: for all steps, or per group."""

    agent: str | None = None
    model: str | None = None
    routes: Mapping[str, str] = field(default_factory=dict)


def parse_route(text: str) -> Route:
    """Parse `AGENT`, `AGENT:MODEL`, `acp:NAME` or `acp:NAME:MODEL`. The name of a model may contain colons."""
    agent, _, model = (part.strip() for part in text.partition(":"))
    if not agent:
        raise ValueError(f"`{text}` names no agent")
    if agent == NAMED_AGENT and model:
        name, _, model = (part.strip() for part in model.partition(":"))
        agent = f"{agent}:{name}"
    return Route(agent, model or None)


def choose(overrides: RouteOverrides, table: Mapping[str, str], group: str | None, own: OwnRoute) -> Route | None:
    """The route of a step, or None. `table` has routes by group, maybe with a default; `own` is what the step sets."""
    if group is not None and group in overrides.routes:
        return parse_route(overrides.routes[group])
    if DEFAULT in overrides.routes and overrides.agent is None:
        return parse_route(overrides.routes[DEFAULT])
    route = _configured_route(table, group, own)
    if overrides.agent is not None:
        return Route(overrides.agent, overrides.model)
    if route is None or overrides.model is None:
        return route
    return replace(route, model=overrides.model)


def _configured_route(table: Mapping[str, str], group: str | None, own: OwnRoute) -> Route | None:
    if group is not None and group in table:
        return parse_route(table[group])
    if own[0] is not None:
        return Route(own[0], own[1])
    if DEFAULT in table:
        default = parse_route(table[DEFAULT])
        return default if own[1] is None else replace(default, model=own[1])
    return None


_PACKAGE = handrail.__path__[0]


def shipped_presets() -> dict[str, dict[str, str]]:
    """The presets that exist without settings."""
    import json

    with open(os.path.join(_PACKAGE, "builtin", "presets.json")) as file:
        presets: dict[str, dict[str, str]] = json.load(file)["presets"]
    return presets


def find_preset(presets: Mapping[str, dict[str, str]], name: str) -> dict[str, str]:
    """The preset with this name. Raises `UsageError` with the names that there are."""
    preset = presets.get(name)
    if preset is None:
        hint = did_you_mean(name, presets) or f"presets: {some(sorted(presets), 12)}; `settings.yaml` may define more"
        raise UsageError(f"there is no preset `{name}`", hint)
    return preset


def save_entry(config: str, section: str, name: str, entry: Mapping[str, str], *, is_dry: bool = False) -> str:
    """Put an entry into a section of the settings. Returns the file. Raises `RefusedError` if it cannot be edited.

    If it `is_dry`, nothing is written.
    """
    path = os.path.realpath(os.path.join(config, SETTINGS_FILE))
    try:
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        raise _cannot_edit(path, section, name, entry, "it cannot be read") from error
    try:
        edited = put_entry(text, section, name, entry)
    except ValueError as error:
        raise _cannot_edit(path, section, name, entry, str(error)) from error
    if not is_dry:
        make_private(os.path.dirname(path))
        write_whole(path, edited.encode(), durable=True, mode=mode_of(path))
    return path


def _cannot_edit(path: str, section: str, name: str, entry: Mapping[str, str], why: str) -> RefusedError:
    line = entry_lines({name: entry})[0]
    return RefusedError(f"`{path}` cannot be edited: {why}", f"write below `{section}:` yourself: {line}")
