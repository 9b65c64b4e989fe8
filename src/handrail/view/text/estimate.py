"""An estimate in words: what a run will likely take, how sure that is, and whether its bounds are enough. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from handrail.driven.runs.choices import Bounded
from handrail.driven.runs.estimate import Consumption, Estimate, EstimateRow, Forecast, Spread
from handrail.source.plain_text import counted
from handrail.view.text.columns import duration

UNKNOWN = "unknown"
_SECONDS = ((5400.0, "h", 3600.0), (90.0, "min", 60.0), (0.0, "s", 1.0))
_TOKENS = ((1e6, "M", 1e6), (1e3, "k", 1e3), (0.0, "", 1.0))


def estimate_lines(found: Estimate, bounds: Bounded) -> list[str]:
    """The estimate in one line, and a warning for each bound that past runs went over."""
    return [f"estimate: {_whole(found)}", *(f"warning: {told}" for told in bound_warnings(found.whole, bounds))]


def _whole(found: Estimate) -> str:
    whole, count = found.whole, len(found.whole.seen)
    if not count:
        return f"{UNKNOWN}; {_no_past(found)}"
    if count == 1:
        return f"{measures(whole)} ({UNKNOWN} how much that varies: 1 past run)"
    least = min((one.share for one in _spreads(whole) if one.count > 1), default=0.0)
    return f"{measures(whole)} ({_share(least)} stay within this; {counted(count, 'past run')})"


def brief_estimate(steps: tuple[int, int], found: Estimate) -> str:
    """For a dialog: `7 to 13 steps; last 5 runs: 5m 02s to 9m 10s, $0.40 to $0.70`."""
    least, most = steps
    told = counted(most, "step") if least == most else f"{least} to {counted(most, 'step')}"
    whole = found.whole
    if whole.seconds is None:
        return f"{told}; {'other agents worked in all past runs' if found.others else 'no past run is like this one'}"
    parts = [_from_to(duration(whole.seconds.low), duration(whole.seconds.high))]
    if whole.usd is not None and whole.usd.high:
        parts.append(
            _from_to(*(f"${amount:.{2 if amount >= 0.1 else 4}f}" for amount in (whole.usd.low, whole.usd.high)))
        )
    elif whole.tokens is None or whole.tokens.high:
        parts.append("cost unknown")
    count = len(whole.seen)
    return f"{told}; {'last run' if count == 1 else f'last {count} runs'}: {', '.join(parts)}"


def _from_to(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _no_past(found: Estimate) -> str:
    told = f"no past run of `{found.flow}` in this project is like this one"
    return f"{told}: other agents or models worked in {counted(found.others, 'run')}" if found.others else told


def measures(likely: Forecast) -> str:
    """Time, tokens and cost, each with its interval and the usual value. Without agents, only the time."""
    if likely.seconds is None:
        return UNKNOWN
    parts = [seconds_words(likely.seconds)]
    if likely.tokens is None or likely.tokens.high:
        parts.append("tokens unknown" if likely.tokens is None else tokens_words(likely.tokens))
        parts.append("cost unknown" if likely.usd is None else usd_words(likely.usd))
    return "; ".join(parts)


def estimate_rows(found: Estimate) -> list[tuple[str, ...]]:
    """A table: a row per phase, and one for the whole."""
    rows = [(name(row), *_cells(row.likely)) for row in found.rows]
    return [("PHASE", "TIME", "TOKENS", "COST", "RUNS"), *rows, ("whole run", *_cells(found.whole))]


def name(row: EstimateRow) -> str:
    rounds = f" (up to {len(row.phases)} rounds)" if len(row.phases) > 1 else ""
    return f"{row.phases[0]}{rounds}"


def meaning_of_estimate(found: Estimate) -> str:
    """How the intervals of a table are to be read."""
    if not any(row.likely.seen for row in found.rows):
        return _no_past(found)
    shares = {one.count: one.share for likely in _all(found) for one in _spreads(likely) if one.count > 1}
    if not shares:
        return "one past run is not enough to say how much it varies"
    told = ", ".join(f"{_share(shares[count])} ({count} runs)" for count in sorted(shares, reverse=True))
    return f"from past runs; how many new ones stay within an interval: {told}"


def bound_warnings(likely: Forecast, bounds: Bounded) -> Iterator[str]:
    """Says how many past runs took more than the run may use."""
    for bound, most in bounds.named.items():
        amounts = [amount for taken in likely.seen if (amount := _amount(taken, bound)) is not None]
        more = sum(amount > most for amount in amounts)
        if more:
            told = f"{more} of {counted(len(amounts), 'past run')} used more than {_bound(bound, most)}"
            yield f"{told} ({bounds.source(bound)}), so this run may end before it is done"


def _amount(taken: Consumption, bound: str) -> float | None:
    if bound == "minutes":
        return None if taken.seconds is None else taken.seconds / 60
    return taken.usd if bound == "usd" else taken.tokens


def _bound(bound: str, most: float) -> str:
    return f"${most:.4g}" if bound == "usd" else counted(int(most) if bound == "tokens" else most, bound[:-1])


def seconds_words(spread: Spread) -> str:
    _, unit, size = next(row for row in _SECONDS if spread.high >= row[0])
    return _interval(spread, size, "", f" {unit}")


def tokens_words(spread: Spread) -> str:
    _, unit, size = next(row for row in _TOKENS if spread.high >= row[0])
    return _interval(spread, size, "", f"{unit} tokens")


def usd_words(spread: Spread) -> str:
    return _interval(spread, 1.0, "$", "", digits=2 if spread.high >= 0.1 else 4)


def _interval(spread: Spread, size: float, before: str, after: str, digits: int | None = None) -> str:
    """The interval, rounded so that it does not get narrower, and the usual value."""
    if not spread.high:
        return f"{before}0{after}"
    low = _rounded(spread.low / size, math.floor, digits)
    usual, high = _rounded(spread.usual / size, round, digits), _rounded(spread.high / size, math.ceil, digits)
    if spread.count == 1 or low == high:
        return f"{before}{usual}{after}"
    return f"{before}{low}–{high}{after}, usually {before}{usual}"


def _rounded(value: float, rounding: Callable[[float], int], digits: int | None) -> str:
    """The value with two digits or so; `digits` are those behind the point, if they are given."""
    places = digits if digits is not None else 0 if value >= 10 or not value else 1
    return f"{rounding(round(value * 10**places, 6)) / 10**places:.{places}f}"


def _cells(likely: Forecast) -> tuple[str, ...]:
    spreads = (likely.seconds, likely.tokens, likely.usd)
    words = (seconds_words, tokens_words, usd_words)
    cells = [UNKNOWN if one is None else say(one) for one, say in zip(spreads, words, strict=True)]
    return (cells[0], cells[1].replace(" tokens", ""), cells[2], str(len(likely.seen)))


def _spreads(likely: Forecast) -> list[Spread]:
    return [one for one in (likely.seconds, likely.tokens, likely.usd) if one is not None]


def _all(found: Estimate) -> list[Forecast]:
    return [found.whole, *(row.likely for row in found.rows)]


def _share(share: float) -> str:
    return f"{math.floor(share * 10 + 1e-9)} of 10 runs"
