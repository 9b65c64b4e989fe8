"""Estimates a run before it starts, from the newest runs of the same flow in the project.

A past run counts where the same agents and models get the steps, for each phase that it finished and that the flow
still has. Its parameters and its task are not looked at. Runs that cannot be read are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from handrail import registry
from handrail.errors import HandrailError
from handrail.flows.catalog import FlowCatalog
from handrail.flows.found import FoundFlow
from handrail.flows.outline import Finder, child_of
from handrail.flows.paths import segment
from handrail.flows.plan import FlowPlan, Phase
from handrail.flows.spec import MAX_DEPTH
from handrail.runs.agents import own_of
from handrail.runs.likely import Likely, Taken, likely
from handrail.runs.loaded import named
from handrail.runs.past import PastRun
from handrail.runs.request import Request, about_from_text, needed_flows
from handrail.runs.routing import Routed, agent_of
from handrail.runs.runs import Runs
from handrail.source.dataclasses import dataclass

MOST = 20
"""How many past runs are read."""
Compared = tuple[PastRun, list[bool]]
"""A past run, and for each group of phases whether the same agents worked in it."""


@dataclass(frozen=True)
class Row:
    """A phase, or all rounds of a phase that is repeated, and what it will likely take."""

    phases: tuple[str, ...]
    likely: Likely

    def to_json(self) -> dict[str, Any]:
        return {"id": self.phases[0], "phases": list(self.phases), **self.likely.to_json()}


@dataclass(frozen=True)
class Estimate:
    """What a run of a flow will likely take. `others` is how many past runs do not count, since other agents worked."""

    flow: str
    whole: Likely
    rows: tuple[Row, ...]
    others: int

    def to_json(self) -> dict[str, Any]:
        rows = [row.to_json() for row in self.rows]
        return {"name": self.flow, "runs": len(self.whole.seen), "others": self.others, **self.whole.to_json(),
                "phases": rows}  # fmt: skip


def estimate(runs: Runs, catalog: FlowCatalog, flow: FoundFlow, request: Request) -> Estimate:
    """The estimate for a run that this request would start."""
    assert flow.plan is not None
    plans = {id_: one.plan for id_, one in needed_flows(catalog, flow).items() if one.plan is not None}
    table = {**runs.table(flow.plan, None), **request.table}
    routing = Routed(request.agent, request.model, request.routes, request.preset or "", table)
    agents = Agents(grouped(_chosen(flow.plan, request)), partial(named, plans))
    return from_past(flow.id, agents, routing, list(past_runs(runs, flow.id)))


def from_past(flow: str, agents: Agents, routing: Routed, past: Sequence[tuple[PastRun, Routed]]) -> Estimate:
    """The estimate for a run whose steps get their agents by `routing`, from these runs and what they began with."""
    same = [(run, agents.compared(routing, [begun_with, *run.routings])) for run, begun_with in past]
    return Estimate(
        flow=flow,
        whole=likely(_wholes(agents.groups, same)),
        rows=tuple(
            Row(tuple(phase.id for phase in group), likely(_parts(group, number, same)))
            for number, group in enumerate(agents.groups)
        ),
        others=sum(not all(is_same) for _, is_same in same),
    )


def past_runs(runs: Runs, flow: str) -> Iterator[tuple[PastRun, Routed]]:
    """The newest runs of a flow, and which agents they began with. Damaged ones are left out."""
    ids = [summary.id for summary in runs.summaries() if summary.flow == flow and summary.status != "damaged"]
    for id_ in ids[-MOST:]:
        try:
            text, history = runs.engine.load(id_)
            yield PastRun(history.records), about_from_text(id_, text).request.routing
        except (HandrailError, LookupError, ValueError, OSError):
            continue


def _chosen(plan: FlowPlan, request: Request) -> tuple[Phase, ...]:
    """The phases from `--from` to `--until`."""
    ids = [phase.id for phase in plan.phases]
    first = ids.index(request.start) if request.start in ids else 0
    end = ids.index(request.until) + 1 if request.until in ids else len(ids)
    return plan.phases[first:end]


def grouped(phases: Sequence[Phase]) -> list[list[Phase]]:
    """The phases in order. All rounds of a phase that is repeated are one group, at the place of the first one."""
    groups: dict[str, list[Phase]] = {}
    first: dict[str, str] = {}
    for phase in phases:
        before = phase.again.before if phase.again is not None else None
        first[phase.id] = first.get(before or "", phase.id)
        groups.setdefault(first[phase.id], []).append(phase)
    return list(groups.values())


def _wholes(groups: list[list[Phase]], same: list[Compared]) -> Iterator[Taken]:
    """What the whole run took, for each past run with the same agents that has something of every group."""
    for past, is_same in same:
        parts = [past.taken(_paths(group)) for group in groups]
        whole = past.taken([path for group in groups for path in _paths(group)])
        if all(is_same) and all(parts) and whole is not None:
            yield whole


def _parts(group: list[Phase], number: int, same: list[Compared]) -> Iterator[Taken]:
    for past, is_same in same:
        if is_same[number] and (taken := past.taken(_paths(group))) is not None:
            yield taken


def _paths(group: list[Phase]) -> list[str]:
    return [segment(phase.id) for phase in group]


class Agents:
    """Compares which agents get the steps of each group of phases."""

    def __init__(self, groups: list[list[Phase]], find: Finder) -> None:
        self.groups = groups
        self.find = find

    def compared(self, now: Routed, past: list[Routed]) -> list[bool]:
        """For each group, whether a past run gave its steps to the same agents as a new one would."""
        others = [other for other in past if other != now]
        if not others:
            return [True] * len(self.groups)
        return [
            all(
                self._of(group, partial(agent_of, now)) == self._of(group, partial(agent_of, other)) for other in others
            )
            for group in self.groups
        ]

    def _of(self, group: Sequence[Phase], router: Callable[..., Any], depth: int = 0) -> list[str]:
        found: list[str] = []
        for phase in group:
            for step in phase.steps:
                if step.calls_agent and (own := own_of(step)) is not None:
                    name = step.node.removesuffix("-prompt")
                    agent = name if name in registry.executors() else own[0]
                    found.append(str(router(step.routing_group, (agent, own[1]))))
                child = child_of(step, self.find) if depth < MAX_DEPTH else None
                if child is not None:
                    found += self._of(child.phases, router, depth + 1)
        return found
