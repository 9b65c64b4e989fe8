"""Which agent and which model a step is given to: by its group, by the flow, or by what was asked for. Pure.

What was asked for on the command line wins; then the routes of the step's group, then what the step itself says, then
the default. Any model name is allowed: models come and go faster than lists of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

GROUPS = ("planning", "design-review", "implementation", "review", "repair-loop", "local-fix-loop")
DEFAULT = "default"
Own = tuple[str | None, str | None]


class Route(NamedTuple):
    agent: str
    model: str | None = None

    def __str__(self) -> str:
        return self.agent if self.model is None else f"{self.agent}:{self.model}"


class Asked(NamedTuple):
    """What was asked for when a run began: for every step, or for those of a group."""

    agent: str | None = None
    model: str | None = None
    routes: Mapping[str, str] = {}


def parse_route(text: str) -> Route:
    """`AGENT` or `AGENT:MODEL`; a model's name may hold colons itself."""
    agent, _, model = text.partition(":")
    if not agent.strip():
        raise ValueError(f"`{text}` names no agent")
    return Route(agent.strip(), model.strip() or None)


def choose(
    asked: Asked, table: Mapping[str, str], group: str | None, own: tuple[str | None, str | None]
) -> Route | None:
    """The route of a step. `table` has routes by group and perhaps a default; `own` is what the step says."""
    if group is not None and group in asked.routes:
        return parse_route(asked.routes[group])
    if DEFAULT in asked.routes and asked.agent is None:
        return parse_route(asked.routes[DEFAULT])
    found = _found(table, group, own)
    if asked.agent is not None:
        return Route(asked.agent, asked.model)
    if found is None or asked.model is None:
        return found
    return found._replace(model=asked.model)


def _found(table: Mapping[str, str], group: str | None, own: Own) -> Route | None:
    if group is not None and group in table:
        return parse_route(table[group])
    if own[0] is not None:
        return Route(own[0], own[1])
    if DEFAULT in table:
        default = parse_route(table[DEFAULT])
        return default if own[1] is None else default._replace(model=own[1])
    return None
