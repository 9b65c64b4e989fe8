"""Which agent gets which step: what a person chose, and the routes of the settings, as an event of a run. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from handrail.runs.bounds import Bounded
from handrail.settings.routes import Own, Route, RouteOverrides, choose
from handrail.source.dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Choice:
    """What a person chose on the command line: `--agent`, `--model`, `--route`, `--preset`, bounds, `--approve`."""

    agent: str | None = None
    model: str | None = None
    routes: dict[str, str] = field(default_factory=dict)
    preset: str | None = None
    bounds: Bounded = field(default_factory=Bounded)
    approve: tuple[str, ...] = ()


@dataclass(frozen=True)
class Routed:
    """From here on, steps get their agents by this. `routes` come from `--route`, `table` from the settings.

    `preset` is empty if there is none, and None in runs of 0.1.0, which did not record it.
    """

    agent: str | None
    model: str | None
    routes: dict[str, str]
    preset: str | None
    table: dict[str, str]

    def with_choice(self, choice: Choice) -> Routed:
        """A later choice wins. A new agent is for every step, so earlier routes and the model of another agent end."""
        now = self
        if choice.agent is not None:
            now = replace(now, agent=choice.agent, model=None, routes={})
        if choice.model is not None:
            now = replace(now, model=choice.model)
        preset = now.preset if choice.preset is None else choice.preset
        return replace(now, routes={**now.routes, **choice.routes}, preset=preset)

    def with_settings(self, table: Mapping[str, str], *, is_whole: bool) -> Routed:
        """The routes of the current settings. Unless they are whole, routes that they do not have stay."""
        return replace(self, table=dict(table) if is_whole else {**self.table, **table})


def agent_of(routing: Routed, group: str | None, own: Own) -> Route | None:
    """The agent for a step, by the recorded routes. `own` are the agent and the model that the step names."""
    return choose(RouteOverrides(routing.agent, routing.model, routing.routes), routing.table, group, own)
