"""Where the next value will likely lie, from few past ones. Pure.

If the next run is like the past ones, it is equally likely to be the fastest, the second fastest and so on among all of
them. So of n past values, the next one lies between the r-th smallest and the r-th largest in (n + 1 - 2r) of (n + 1)
cases, however the values are distributed. `spread` takes the largest r with at least 8 of 10 cases. Fewer than 9 values
are not enough for that: then the interval is from the smallest to the largest, and `share` says how much it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from handrail.source.dataclasses import dataclass

MEASURES = ("seconds", "tokens", "usd")


@dataclass(frozen=True)
class Spread:
    """The next value is between `low` and `high` in `share` of all cases; `usual` is the median of `count` values.

    One value has no interval: then `share` is 0.
    """

    low: float
    usual: float
    high: float
    share: float
    count: int


@dataclass(frozen=True)
class Taken:
    """What a run or a part of it took. None: not known."""

    seconds: float | None = None
    tokens: float | None = None
    usd: float | None = None


@dataclass(frozen=True)
class Likely:
    """What a run or a part of it will likely take. None: unknown. `seen` is what past runs took."""

    seconds: Spread | None = None
    tokens: Spread | None = None
    usd: Spread | None = None
    seen: tuple[Taken, ...] = ()

    def to_json(self) -> dict[str, Any]:
        spreads = {name: getattr(self, name) for name in MEASURES}
        return {name: None if found is None else vars(found) for name, found in spreads.items()}


def spread(values: Sequence[float]) -> Spread | None:
    """The interval for the next value; None if there are no values."""
    count = len(values)
    if not count:
        return None
    ordered, rank = sorted(values), max(1, (count + 1) // 10)
    share = max(0, count + 1 - 2 * rank) / (count + 1)
    return Spread(ordered[rank - 1], median(ordered), ordered[count - rank], share, count)


def likely(seen: Iterable[Taken]) -> Likely:
    """The intervals for the next run. What is not known of a past run is left out."""
    found = tuple(seen)
    known = {name: [value for taken in found if (value := getattr(taken, name)) is not None] for name in MEASURES}
    return Likely(**{name: spread(values) for name, values in known.items()}, seen=found)
