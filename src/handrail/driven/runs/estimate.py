"""Estimates a run before it starts, from the newest runs of the same flow in the project.

A past run counts where the same agents and models get the steps, for each phase that it finished and that the flow
still has. Its parameters and its task are not looked at. Runs that cannot be read are left out. Time counts while a
process drives the run: not while it waits for a person, and not between a kill and a resume.

If the next run is like the past ones, it is equally likely to be the fastest, the second fastest and so on among all
of them. So of n past values, the next one lies between the r-th smallest and the r-th largest in (n + 1 - 2r) of
(n + 1) cases, however the values are distributed. `spread` takes the largest r with at least 8 of 10 cases. Fewer
than 9 values are not enough for that: then the interval is from the smallest to the largest, and `share` says how
much it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from handrail.base.dataclasses import dataclass, field
from handrail.base.errors import HandrailError
from handrail.driven.flows.catalog import FlowCatalog, FoundFlow
from handrail.driven.flows.keys import MAX_DEPTH
from handrail.driven.flows.plan import FlowFinder, Phase, child_of, path_segment, top_phase
from handrail.driven.runs import run_events
from handrail.driven.runs.request import RunRequest, about_from_text, needed_flows, plan_named
from handrail.driven.runs.run_events import Routed, agent_of, number_of_copied
from handrail.driven.runs.run_rules import own_of
from handrail.driven.runs.runs import Runs
from handrail.driven.runs.state import LEFT_OUT, RunClock
from handrail.extensions.contracts import EventRecord

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
class Consumption:
    """What a run or a part of it took. None: not known."""

    seconds: float | None = None
    tokens: float | None = None
    usd: float | None = None


@dataclass(frozen=True)
class Forecast:
    """What a run or a part of it will likely take. None: unknown. `past` is what past runs took."""

    seconds: Spread | None = None
    tokens: Spread | None = None
    usd: Spread | None = None
    past: tuple[Consumption, ...] = ()

    def to_json(self) -> dict[str, Any]:
        spreads = {name: getattr(self, name) for name in MEASURES}
        return {name: None if interval is None else vars(interval) for name, interval in spreads.items()}


def spread(values: Sequence[float]) -> Spread | None:
    """The interval for the next value; None if there are no values."""
    from statistics import median

    count = len(values)
    if not count:
        return None
    ordered, rank = sorted(values), max(1, (count + 1) // 10)
    share = max(0, count + 1 - 2 * rank) / (count + 1)
    return Spread(ordered[rank - 1], median(ordered), ordered[count - rank], share, count)


def likely(past: Iterable[Consumption | None]) -> Forecast:
    """The intervals for the next run. What is not known of a past run is left out."""
    runs = tuple(run for run in past if run is not None)
    values = {name: [value for run in runs if (value := getattr(run, name)) is not None] for name in MEASURES}
    return Forecast(**{name: spread(numbers) for name, numbers in values.items()}, past=runs)


@dataclass
class PastPhase:
    """A phase of a past run. Times are seconds on the clock of the run, which stands still while nobody drives it.

    `spans` are the times in which it ran, one for each attempt of the run; `begun` is the start of the current one.
    `is_own`: nothing of it is missing here, and it ran once in an attempt. Not so if `--from` left it out, if it was
    kept from a run before this one, or if `continue` ran it again.
    """

    begun: float | None = None
    spans: list[tuple[float, float]] = field(default_factory=list)
    is_over: bool = False
    is_own: bool = True
    sessions: int = 0
    usages: list[Mapping[str, Any]] = field(default_factory=list)

    def end(self, clock: float) -> None:
        if self.begun is not None:
            self.spans.append((self.begun, clock))
            self.begun = None

    def usage_sum(self, *names: str) -> float | None:
        """The sum of these numbers over all calls of agents. None if an agent did not report one of them."""
        if not self.usages:
            return 0.0 if not self.sessions else None
        return _sum(usage.get(name) for usage in self.usages for name in names)


class PastRun:
    """A past run: its phases by path, and whether it reached its own end, in whatever definition it had.

    Take its attempts in order. If one fails and another one does the work, both are what the run took.
    """

    def __init__(self) -> None:
        self.phases: dict[str, PastPhase] = {}
        self.routings: list[run_events.Routed] = []
        self.is_whole = False
        self._clock = RunClock()

    def take(self, records: Sequence[EventRecord]) -> None:
        """Add an attempt. What a restart copied from the attempt before is left out."""
        copied = number_of_copied(records)
        for phase in self.phases.values():
            phase.end(self._clock.seconds)
        for _, event in records[:copied]:
            if isinstance(event, run_events.PhaseStarted | run_events.PhaseSkipped) and event.path not in self.phases:
                self._phase(event.path).is_own = False
        for at, event in records[max(0, copied - 1) :]:
            if self._clock.take(at, type(event).__name__, vars(event)):
                self._take(event, self._clock.seconds)

    def _phase(self, path: str) -> PastPhase:
        return self.phases.setdefault(top_phase(path), PastPhase())

    def _take(self, event: run_events.Event, clock: float) -> None:
        match event:
            case run_events.PhaseStarted() if "/" not in event.path:
                phase = self._phase(event.path)
                phase.begun, phase.is_over = clock, False
            case run_events.PhaseDone() if "/" not in event.path:
                phase = self._phase(event.path)
                phase.end(clock)
                phase.is_over = True
            case run_events.PhaseSkipped() if "/" not in event.path:
                phase = self._phase(event.path)
                phase.is_over, phase.is_own = True, event.reason != LEFT_OUT
            case run_events.SessionOpened():
                self._phase(event.path).sessions += 1
            case run_events.UsageReported():
                self._phase(event.path).usages.append(event.usage)
            case run_events.Routed():
                self.routings.append(event)
            case run_events.RunResumed():
                self.is_whole = False
                for path in event.rewound:
                    self._phase(path).is_own = False
            case run_events.RunEnded():
                self.is_whole = event.status in ("completed", "stopped") and event.code != "until"
            case _:
                pass

    def consumption(self, paths: Sequence[str]) -> Consumption | None:
        """What these phases took together; None if one of them was not done.

        A run that reached its end may lack some of them: its definition did not have them, such as further rounds.
        """
        known = [self.phases[path] for path in paths if path in self.phases]
        is_behind = all(phase.is_own and phase.is_over for phase in known)
        if not known or not is_behind or (len(known) < len(paths) and not self.is_whole):
            return None
        return Consumption(
            seconds=_length(span for phase in known for span in phase.spans),
            tokens=_sum(phase.usage_sum("inputTokens", "outputTokens") for phase in known),
            usd=_sum(phase.usage_sum("usd") for phase in known),
        )


def _length(times: Iterable[tuple[float, float]]) -> float:
    """How long at least one of these lasted: phases that ran at the same time count once."""
    total, until = 0.0, 0.0
    for start, end in sorted(times):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def _sum(numbers: Iterable[float | None]) -> float | None:
    values = list(numbers)
    return None if None in values else sum(number for number in values if number is not None)


MOST_RUNS = 20
"""How many past runs are read."""


@dataclass(frozen=True)
class EstimateRow:
    """A phase, or all rounds of a phase that is repeated, and what it will likely take."""

    phases: tuple[str, ...]
    likely: Forecast

    def to_json(self) -> dict[str, Any]:
        return {"id": self.phases[0], "phases": list(self.phases), **self.likely.to_json()}


@dataclass(frozen=True)
class Estimate:
    """What a run of a flow will likely take. `others` is how many past runs do not count, since other agents worked."""

    flow: str
    whole: Forecast
    rows: tuple[EstimateRow, ...]
    others: int

    @property
    def has_past(self) -> bool:
        return bool(self.whole.past or self.others or any(row.likely.past for row in self.rows))

    def to_json(self) -> dict[str, Any]:
        rows = [row.to_json() for row in self.rows]
        return {"name": self.flow, "runs": len(self.whole.past), "others": self.others, **self.whole.to_json(),
                "phases": rows}  # fmt: skip


def estimate_run(runs: Runs, catalog: FlowCatalog, flow: FoundFlow, request: RunRequest) -> Estimate:
    assert flow.plan is not None
    plans = {id_: needed.plan for id_, needed in needed_flows(catalog, flow).items() if needed.plan is not None}
    table = {**runs.table(flow.plan, None), **request.table}
    routing = Routed(request.agent, request.model, request.routes, request.preset or "", table)
    groups = round_groups(request.phases(flow.plan))
    return estimate_from(flow.id, groups, partial(plan_named, plans), routing, past_runs(runs, flow.id))


def estimate_from(
    flow: str, groups: list[list[Phase]], find: FlowFinder, routing: Routed, past: Iterable[tuple[PastRun, Routed]]
) -> Estimate:
    """The estimate for a run whose steps get their agents by `routing`, from these runs and what they began with.

    Those parts of past runs count whose steps went to the same agents.
    """
    paths = [[path_segment(phase.id) for phase in group] for group in groups]
    wholes: list[Consumption | None] = []
    parts: list[list[Consumption | None]] = [[] for _ in paths]
    others = 0
    for run, begun_with in past:
        changes = [other for other in (begun_with, *run.routings) if other != routing]
        routers = [partial(agent_of, one) for one in (routing, *changes)]
        comparison = [len({tuple(_agents_of(group, find, router)) for router in routers}) == 1 for group in groups]
        consumptions = [run.consumption(g) if is_same else None for g, is_same in zip(paths, comparison, strict=True)]
        for part, consumption in zip(parts, consumptions, strict=True):
            part.append(consumption)
        wholes.append(run.consumption([path for group in paths for path in group]) if all(consumptions) else None)
        others += not all(comparison)
    ids = [tuple(phase.id for phase in group) for group in groups]
    rows = (EstimateRow(phases, likely(part)) for phases, part in zip(ids, parts, strict=True))
    return Estimate(flow, likely(wholes), tuple(rows), others)


def past_runs(runs: Runs, flow: str) -> Iterator[tuple[PastRun, Routed]]:
    """The newest runs of a flow, and which agents they began with. Damaged ones are left out.

    If a run was restarted after it had reached its end, that is another run.
    """
    ids = [summary.id for summary in runs.engine.summaries() if summary.flow == flow and summary.status != "damaged"]
    for id_ in ids[-MOST_RUNS:]:
        try:
            text, history = runs.engine.load(id_)
            about, past = about_from_text(id_, text), PastRun()
            earlier = [Routed(**routing) for routing in about.earlier.get("routings", [])]
            attempts = [runs.engine.records(id_, number) for number in range(1, history.attempt)] if earlier else []
            for records in (*attempts, history.records):
                if past.is_whole:
                    yield past, about.request.routing
                    past = PastRun()
                past.routings += earlier
                past.take(records)
            yield past, about.request.routing
        except (HandrailError, LookupError, ValueError, TypeError, OSError):
            continue


def round_groups(phases: Sequence[Phase]) -> list[list[Phase]]:
    """The phases in order. All rounds of a phase that is repeated are one group, at the place of the first one."""
    groups: dict[str, list[Phase]] = {}
    first_ids: dict[str, str] = {}
    for phase in phases:
        previous = phase.repeat_link.previous if phase.repeat_link is not None else None
        first_ids[phase.id] = first_ids.get(previous or "", phase.id)
        groups.setdefault(first_ids[phase.id], []).append(phase)
    return list(groups.values())


def _agents_of(group: Sequence[Phase], find: FlowFinder, router: Callable[..., Any], depth: int = 0) -> Iterator[str]:
    """The agents of the steps of these phases and of the flows nested in them."""
    for step in (step for phase in group for step in phase.steps):
        if step.declared.calls_agent and (own := own_of(step)) is not None:
            yield str(router(step.routing_group, (step.declared.agent or own[0], own[1])))
        child = child_of(step, find) if depth < MAX_DEPTH else None
        if child is not None:
            yield from _agents_of(child.phases, find, router, depth + 1)
