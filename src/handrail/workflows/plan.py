"""A compiled workflow: nesting gone, one flat tuple of stops, everything a session needs and nothing else.

Stored beside the journal when a session starts, so that a running session never looks at the files again.
Pure; standard library only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

FORMAT = 1


class Level(NamedTuple):
    """Where a stop stands in one workflow of its breadcrumb: at `position` (from 0) of `total` entries."""

    key: str
    name: str
    position: int
    total: int


class Check(NamedTuple):
    """Something Handrail verifies before the stop is left. `words` say what has to hold: "exits with 0".

    Plans of 0.1.0 have no words.
    """

    kind: str
    params: dict[str, Any]
    name: str
    words: str = ""


class Stop(NamedTuple):
    """One leaf phase, with its breadcrumb and what is around it."""

    id: str
    name: str
    emoji: str
    instructions: str
    levels: tuple[Level, ...]
    scope_first: int
    scope_loopable: bool
    previous: str
    next: str
    deny: tuple[str, ...] | None
    allow: tuple[str, ...] | None
    profiles: tuple[str, ...]
    checks: tuple[Check, ...]

    @property
    def path(self) -> list[tuple[str, int]]:
        return [(level.key, level.position) for level in self.levels]

    @property
    def breadcrumb(self) -> str:
        return " > ".join(level.name for level in self.levels)


class Plan(NamedTuple):
    """A whole workflow, ready to be walked."""

    key: str
    name: str
    command: str
    initial_message: str
    texts: dict[str, str]
    session_name_length: int
    stops: tuple[Stop, ...]

    @property
    def profiles(self) -> list[str]:
        """Every profile that any stop names, in the order in which they appear."""
        return list(dict.fromkeys(profile for stop in self.stops for profile in stop.profiles))


def to_json(plan: Plan) -> dict[str, Any]:
    """Plain data, the same for the same plan."""
    data = plan._asdict()
    data["stops"] = [_stop_to_json(stop) for stop in plan.stops]
    return {"format": FORMAT, **data}


def _stop_to_json(stop: Stop) -> dict[str, Any]:
    data = stop._asdict()
    data["levels"] = [list(level) for level in stop.levels]
    data["checks"] = [list(check) for check in stop.checks]
    return data


def from_json(data: dict[str, Any]) -> Plan:
    """The plan that `to_json` wrote; `ValueError` for data of another shape."""
    try:
        if data["format"] != FORMAT:
            raise ValueError(f"plan format {data['format']} is not {FORMAT}")
        fields = {name: data[name] for name in Plan._fields}
        fields["stops"] = tuple(_stop_from_json(stop) for stop in data["stops"])
        return Plan(**fields)
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a plan: {error}") from error


def _stop_from_json(data: dict[str, Any]) -> Stop:
    stop = Stop(**data)
    return stop._replace(
        levels=tuple(Level(*level) for level in stop.levels),
        deny=None if stop.deny is None else tuple(stop.deny),
        allow=None if stop.allow is None else tuple(stop.allow),
        profiles=tuple(stop.profiles),
        checks=tuple(Check(*check) for check in stop.checks),
    )


def locate(plan: Plan, path: list[tuple[str, int]]) -> int | None:
    """The stop at a stack of (workflow key, index); a stack that ends at a subworkflow means its first stop."""
    for at, stop in enumerate(plan.stops):
        if stop.path[: len(path)] == path:
            return at
    return None


def relocate(old: Plan, at: int, new: Plan) -> int | str:
    """Where the stop `at` of one plan is in another, by phase id; or why that cannot be said."""
    here = old.stops[at]
    twins = [i for i, stop in enumerate(old.stops) if _identity(stop) == _identity(here)]
    found = [i for i, stop in enumerate(new.stops) if _identity(stop) == _identity(here)]
    if not found:
        return f"phase `{here.id}` is no longer in {' > '.join(level.key for level in here.levels)}"
    if len(found) == len(twins):
        return found[twins.index(at)]
    return f"phase `{here.id}` now stands in {len(found)} places, it stood in {len(twins)}"


def _identity(stop: Stop) -> tuple[tuple[str, ...], str]:
    return tuple(level.key for level in stop.levels), stop.id
