"""The results: a ratio, its bound, and whether it keeps the bound."""

from __future__ import annotations

from typing import NamedTuple

from bench.measure import Sample


class Bound(NamedTuple):
    """A limit that must be kept, and a stricter one as an aim."""

    limit: float
    aim: float | None = None
    at_least: bool = False

    def keeps(self, ratio: float, limit: float) -> bool:
        return ratio >= limit if self.at_least else ratio <= limit

    def __str__(self) -> str:
        words = f"at {'least' if self.at_least else 'most'} {self.limit:g}"
        return words if self.aim is None else f"{words}, aim {self.aim:g}"


class Row(NamedTuple):
    """One comparison. `ratio` compares medians and has to keep the bound; `best` compares minima."""

    what: str
    against: str
    ratio: float | None
    best: float | None = None
    bound: Bound | None = None
    skipped: str = ""

    @property
    def missed(self) -> bool:
        return self.bound is not None and self.ratio is not None and not self.bound.keeps(self.ratio, self.bound.limit)

    @property
    def verdict(self) -> str:
        if self.ratio is None:
            return f"skipped: {self.skipped}"
        if self.bound is None:
            return "for information"
        if self.missed:
            return "MISSED"
        if self.bound.aim is None:
            return "kept"
        return "kept, aim reached" if self.bound.keeps(self.ratio, self.bound.aim) else "kept, aim not reached"

    def cells(self) -> list[str]:
        bound = "none" if self.bound is None else str(self.bound)
        return [self.what, self.against, number(self.ratio), number(self.best), bound, self.verdict]


HEAD = ["What", "Compared with", "Ratio", "By minima", "Bound", "Verdict"]


class Table(NamedTuple):
    """Additional numbers: sizes, which are the same on every machine, and times that were measured elsewhere."""

    caption: str
    head: list[str]
    lines: list[list[str]]


class Part(NamedTuple):
    """The rows of one topic, and a description of the measurement."""

    title: str
    about: str
    rows: list[Row]
    tables: tuple[Table, ...] = ()


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def slower(what: str, against: str, mine: Sample, other: Sample, bound: Bound | None = None) -> Row:
    """How many times as long `mine` takes."""
    return Row(what, against, mine.median / other.median, mine.best / other.best, bound)


def rarely(what: str, against: str, mine: Sample, other: Sample) -> Row:
    """How many times as long `mine` takes, at the 95th percentile of both sides."""
    return Row(what, against, mine.p95 / other.p95)


def faster(what: str, against: str, mine: Sample, other: Sample, bound: Bound | None = None) -> Row:
    """How many times as fast `mine` is."""
    return Row(what, against, other.median / mine.median, other.best / mine.best, bound)


def skipped(what: str, against: str, bound: Bound | None, why: str) -> Row:
    return Row(what, against, None, None, bound, why)
