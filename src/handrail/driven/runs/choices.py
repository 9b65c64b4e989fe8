"""What a person chooses for a run: its agents, what it may use at most, which effects are approved. Pure.

All that the current attempt used counts for its bounds, also in earlier lives. A run that reaches a bound ends and can
be resumed with a higher one. `Bounded`, `Routed` and `Permitted` are events of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, dataclass_transform

from handrail.base.dataclasses import dataclass, field, replace
from handrail.extensions.contracts import Exhausted
from handrail.settings.routes import OwnRoute, Route, RouteOverrides, choose
from handrail.settings.sections import ApprovalRule
from handrail.source.plain_text import counted


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Event:
    """An event of a run. Each subclass is a frozen dataclass; the others are in `run_events`."""

    __init_subclass__: Any = classmethod(dataclass(frozen=True))  # gets the subclass


BOUND_NAMES = ("usd", "minutes", "tokens")
BOUND_OPTIONS = {"usd": "--max-usd", "minutes": "--max-minutes", "tokens": "--max-tokens"}
BUDGET_CODE = "budget"


class Bounded(Event):
    """From here on, a run may use at most this. None: as much as it needs.

    `places` says for bounds of the settings where they are: `FILE:LINE`, by name. Others come from the command line.
    """

    usd: float | None = None
    minutes: float | None = None
    tokens: float | None = None
    places: dict[str, str] = field(default_factory=dict)

    @property
    def named(self) -> dict[str, Any]:
        """The bounds that there are, by name."""
        return {name: most for name in BOUND_NAMES if (most := getattr(self, name)) is not None}

    def with_later(self, later: Bounded) -> Bounded:
        """A later bound wins over an earlier one of its kind."""
        known = {name: place for name, place in self.places.items() if name not in later.named}
        return Bounded(**{**self.named, **later.named}, places={**known, **later.places})

    def source(self, name: str) -> str:
        """Where a bound comes from: `--max-usd`, or `limits.usd` and the place in the settings."""
        place = self.places.get(name)
        return f"`{BOUND_OPTIONS[name]}`" if place is None else f"`limits.{name}`, {place}"


def option_named_in(reason: str) -> str | None:
    """The option that raises the bound which ended a run; None if no bound did."""
    return next(
        (option for name, option in BOUND_OPTIONS.items() if option in reason or f"`limits.{name}`" in reason), None
    )


class Meter:
    """What a run used so far, beside its bounds. `usages` and `seconds` are those of earlier lives."""

    def __init__(self, bounds: Bounded, usages: Iterable[Mapping[str, Any]] = (), seconds: float = 0.0) -> None:
        self.bounds = bounds
        self.seconds = seconds
        self.usd, self.tokens = 0.0, 0
        self._now: dict[str, Mapping[str, Any]] = {}
        for usage in usages:
            self._add(usage)

    def _add(self, usage: Mapping[str, Any]) -> None:
        self.usd += _usd(usage)
        self.tokens += _tokens(usage)

    @property
    def seconds_left(self) -> float | None:
        return None if self.bounds.minutes is None else max(0.0, self.bounds.minutes * 60 - self.seconds)

    @property
    def usd_left(self) -> float | None:
        if self.bounds.usd is None:
            return None
        return max(0.0, self.bounds.usd - self.usd - sum(map(_usd, self._now.values())))

    def refuse(self) -> None:
        """Raise `Exhausted` if a bound is reached."""
        used = {
            "usd": self.usd + sum(map(_usd, self._now.values())),
            "tokens": self.tokens + sum(map(_tokens, self._now.values())),
        }
        for name, amount in used.items():
            most = getattr(self.bounds, name)
            if most is not None and amount >= most:
                raise Exhausted(self._words(name, amount, most))

    def took(self, path: str, usage: Mapping[str, Any]) -> None:
        """Count what the current call of an agent used so far. Raises `Exhausted` if that reaches a bound."""
        self._now[path] = usage
        self.refuse()

    def blind_to(self, usage: Mapping[str, Any]) -> str | None:
        """Says which bound cannot hold because the agent did not report what it used; None if all can."""
        if self.bounds.usd is not None and usage.get("usd") is None:
            told = f"so it cannot be counted for {self.bounds.source('usd')}"
            return f"the agent did not report what it cost, {told}; `--max-tokens` may hold instead"
        if self.bounds.tokens is not None and not _tokens(usage):
            told = f"so they cannot be counted for {self.bounds.source('tokens')}"
            return f"the agent did not report its tokens, {told}; `--max-minutes` holds"
        return None

    def settle(self, path: str) -> None:
        """The current call of the agent of a step has ended."""
        self._add(self._now.pop(path, {}))

    def out_of_time(self) -> Exhausted:
        assert self.bounds.minutes is not None
        return Exhausted(self._words("minutes", self.bounds.minutes, self.bounds.minutes))

    def _words(self, name: str, used: float, most: float) -> str:
        source = f"({self.bounds.source(name)})"
        match name:
            case "usd":
                return f"it used ${used:.4g} of at most ${most:.4g} {source}"
            case "tokens":
                return f"it used {int(used)} of at most {counted(int(most), 'token')} {source}"
            case _:
                return f"it ran for {counted(most, 'minute')}, which is the most it may {source}"


def _usd(usage: Mapping[str, Any]) -> float:
    found = usage.get("usd")
    return float(found) if isinstance(found, int | float) else 0.0


def _tokens(usage: Mapping[str, Any]) -> int:
    found = (usage.get("inputTokens"), usage.get("outputTokens"))
    return sum(int(count) for count in found if isinstance(count, int | float))


class Permitted(Event):
    """From here on, these effects are approved without a question."""

    effects: list[str] = field(default_factory=list)

    def with_more(self, effects: Sequence[str]) -> Permitted:
        return Permitted([*self.effects, *(name for name in effects if name not in self.effects)])

    @property
    def rules(self) -> tuple[ApprovalRule, ...]:
        return tuple(map(ApprovalRule, self.effects))


@dataclass(frozen=True)
class RunChoice:
    """What a person chose on the command line: `--agent`, `--model`, `--route`, `--preset`, bounds, `--approve`."""

    agent: str | None = None
    model: str | None = None
    routes: dict[str, str] = field(default_factory=dict)
    preset: str | None = None
    bounds: Bounded = field(default_factory=Bounded)
    approve: tuple[str, ...] = ()


class Routed(Event):
    """From here on, steps get their agents by this. `routes` come from `--route`, `table` from the settings.

    `preset` is empty if there is none, and None in runs of 0.1.0, which did not record it.
    """

    agent: str | None
    model: str | None
    routes: dict[str, str]
    preset: str | None
    table: dict[str, str]

    def with_choice(self, choice: RunChoice) -> Routed:
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


def agent_of(routing: Routed, group: str | None, own: OwnRoute) -> Route | None:
    """The agent for a step, by the recorded routes. `own` are the agent and the model that the step names."""
    return choose(RouteOverrides(routing.agent, routing.model, routing.routes), routing.table, group, own)
