"""Flows that run each other in a circle, or too deep. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from handrail.flows.reading import Nested
from handrail.flows.spec import MAX_DEPTH


def nesting_problems(runs: Mapping[str, Mapping[str, Nested]]) -> Iterator[tuple[str, str, str, str, str]]:
    """Flows that run each other in a circle or too deep: (flow, nested flow, code, message, hint)."""
    levels, endless = _levels(runs)
    for id_ in endless:
        circle = _circle(runs, id_)
        if circle is not None:
            message = f"flows run each other in a circle: {' → '.join(circle)}"
            hint = "remove one of the references; none of these flows can be used"
            yield id_, circle[1], "flow-cycle", message, hint
    for id_, level in levels.items():
        if level == MAX_DEPTH + 1:
            target = next(target for target in runs[id_] if levels[target] == MAX_DEPTH)
            message = f"flows run flows more than {MAX_DEPTH} levels deep from here"
            yield id_, target, "flow-depth", message, "let one flow run several others in sequence instead"


def _levels(runs: Mapping[str, Mapping[str, Nested]]) -> tuple[dict[str, int], list[str]]:
    """The number of levels below each flow, and the flows that are part of a circle or lead into one.

    It removes flows without remaining nested flows again and again. The flows that are left never end.
    """
    users: dict[str, list[str]] = {}
    for id_, targets in runs.items():
        for target in targets:
            users.setdefault(target, []).append(id_)
    open_ = {id_: len(targets) for id_, targets in runs.items()}
    ends = [id_ for id_, count in open_.items() if not count]
    levels = dict.fromkeys(runs, 0)
    while ends:
        below = ends.pop()
        for user in users.get(below, ()):
            levels[user] = max(levels[user], levels[below] + 1)
            open_[user] -= 1
            if not open_[user]:
                ends.append(user)
    endless = [id_ for id_, count in open_.items() if count]
    return {id_: level for id_, level in levels.items() if not open_[id_]}, endless


def _circle(runs: Mapping[str, Mapping[str, Nested]], start: str) -> list[str] | None:
    """The shortest path from a flow back to itself. None if there is none."""
    came: dict[str, str] = {}
    row = [start]
    while row:
        following: list[str] = []
        for id_ in row:
            for target in runs[id_]:
                if target not in came:
                    came[target] = id_
                    following.append(target)
        if start in came:
            way = [start, came[start]]
            while way[-1] != start:
                way.append(came[way[-1]])
            return way[::-1]
        row = following
    return None
