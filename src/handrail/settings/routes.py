"""Routes: which agent and which model gets a step. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from handrail import NAMED_AGENT
from handrail.source.dataclasses import dataclass, field, replace

DEFAULT = "default"
Own = tuple[str | None, str | None]


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


def choose(overrides: RouteOverrides, table: Mapping[str, str], group: str | None, own: Own) -> Route | None:
    """The route of a step, or None. `table` has routes by group, maybe with a default; `own` is what the step sets."""
    if group is not None and group in overrides.routes:
        return parse_route(overrides.routes[group])
    if DEFAULT in overrides.routes and overrides.agent is None:
        return parse_route(overrides.routes[DEFAULT])
    found = _configured_route(table, group, own)
    if overrides.agent is not None:
        return Route(overrides.agent, overrides.model)
    if found is None or overrides.model is None:
        return found
    return replace(found, model=overrides.model)


def _configured_route(table: Mapping[str, str], group: str | None, own: Own) -> Route | None:
    if group is not None and group in table:
        return parse_route(table[group])
    if own[0] is not None:
        return Route(own[0], own[1])
    if DEFAULT in table:
        default = parse_route(table[DEFAULT])
        return default if own[1] is None else replace(default, model=own[1])
    return None
