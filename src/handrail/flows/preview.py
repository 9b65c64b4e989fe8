"""Previews what a flow would do, as far as it is known before it runs. Pure; it walks a plan as `interpret` does."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from handrail.contracts import NodeError
from handrail.expressions.tree import Const, Expression
from handrail.expressions.words import as_data, in_words
from handrail.flows.account import skipped, with_defaults
from handrail.flows.foreign import FROM_SCOPE, child_params, missing_iterations
from handrail.flows.paths import segment
from handrail.flows.plan import FlowPlan, Phase, Step, groups_of
from handrail.flows.prospect import Exists, Given, Prospect, Verdict
from handrail.flows.spec import MAX_DEPTH
from handrail.flows.uses import params_read
from handrail.flows.words import expectation_words, output_words
from handrail.source.dataclasses import dataclass, field, replace
from handrail.source.given import leads_out
from handrail.source.values import Unresolved, as_text, is_true

MAX_ROWS = 10_000
Finder = Callable[[str], FlowPlan | None]


@dataclass(frozen=True)
class PreviewPart:
    """The part of a flow to preview: from one phase to another."""

    start: str | None = None
    until: str | None = None


@dataclass(frozen=True)
class PreviewRow:
    """A phase or a step (`kind`), and its `verdict`: runs, skipped, depends or fails.

    `why` is the reason, `on` are the references it depends on. The `params` in `unknown` have no value yet, only text.
    `flow` is the flow that a step runs, and `nested` is the param that names it; its rows follow one level deeper. A
    last row of kind `more` says that further rows were left out.
    """

    kind: str
    path: str
    depth: int
    id: str
    verdict: str = "runs"
    why: str = ""
    on: tuple[str, ...] = ()
    timeout: float | None = None
    rounds: Mapping[str, Any] = field(default_factory=dict)
    lane: int | None = None
    parallel: int | None = None
    node: str | None = None
    flow: str | None = None
    nested: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    prompt: str | None = None
    expect: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    stops: str | None = None
    attempts: int = 1


class _TooManyRows(Exception):
    """The preview has more than `MAX_ROWS` rows."""


class _Later:
    """Stands for a parameter that is not known yet."""


@dataclass(frozen=True)
class _End:
    """Why the rest of the flow is not reached."""

    why: str
    is_failure: bool = False


class _Shared:
    """State that all flows of one preview share. `exists` is None once a step may have run."""

    def __init__(self, exists: Exists, find: Finder) -> None:
        self.exists: Exists | None = exists
        self.find = find
        self.rows: list[PreviewRow] = []

    def add(self, row: PreviewRow) -> None:
        if len(self.rows) >= MAX_ROWS:
            raise _TooManyRows
        self.rows.append(row)
        if row.kind == "step" and row.verdict in ("runs", "depends"):
            self.exists = None


def preview(
    plan: FlowPlan,
    params: Mapping[str, Any],
    context: Mapping[str, Any],
    exists: Exists,
    find: Finder,
    part: PreviewPart | None = None,
) -> list[PreviewRow]:
    """One row per phase and step. `exists` tells whether a file exists now."""
    part = part or PreviewPart()
    shared = _Shared(exists, find)
    try:
        _Flow(plan, Given(params, context), shared).run(part)
    except _TooManyRows:
        shared.rows.append(PreviewRow("more", "", 0, "", "depends", f"there are more than {MAX_ROWS} phases and steps"))
    return shared.rows


class _Flow:
    """The preview of one flow. A nested flow has its own, below the path of its step."""

    def __init__(self, plan: FlowPlan, given: Given, shared: _Shared, base: str = "", level: int = 0) -> None:
        self.plan = plan
        self.shared = shared
        self.base = base
        self.level = level
        self.prospect = Prospect(plan, given)

    def run(self, part: PreviewPart) -> _End | None:
        """Why the flow does not reach its last phase. None if it does, or if that is not known."""
        ids = [phase.id for phase in self.plan.phases]
        before = set(ids[: ids.index(part.start)]) if part.start in ids else set()
        end: _End | None = None
        for phases in groups_of(self.plan.phases):
            lanes = itertools.groupby(phases, key=lambda phase: phase.lane)
            ends = [self.lane(lane, end, before) for _, lane in lanes]
            end = end or next(filter(None, ends), None)
            if end is None and any(phase.id == part.until for phase in phases):
                end = _End("the run ends before this phase")
        return end

    def lane(self, phases: Iterable[Phase], end: _End | None, before: set[str]) -> _End | None:
        """Preview phases that run one after the other."""
        for phase in phases:
            if end is None and phase.id not in before:
                end = self.phase(phase)
                continue
            why = "the run starts after this phase" if end is None else end.why
            self.shared.add(replace(self._row(phase), verdict="skipped", why=why))
            self.prospect.skip(phase)
        return end

    def _row(self, phase: Phase, step: Step | None = None) -> PreviewRow:
        path = self.base + segment(phase.id)
        if step is None:
            row = PreviewRow("phase", path, 2 * self.level, phase.id, timeout=phase.timeout)
            limit = phase.parallel.limit
            return replace(
                row, lane=phase.lane.number + 1 if phase.lane else None, parallel=limit if limit > 1 else None
            )
        row = PreviewRow("step", f"{path}/{segment(step.id)}", 2 * self.level + 1, step.id, timeout=step.timeout)
        return replace(row, node=step.node, attempts=step.retry.attempts)

    def phase(self, phase: Phase) -> _End | None:
        self.prospect.exists = self.shared.exists
        row = replace(self._row(phase), rounds=self.prospect.enter(phase))
        try:
            verdict = self.prospect.verdict(phase.guards, phase.when)
        except Unresolved as error:
            self.shared.add(replace(row, verdict="fails", why=error.message))
            return _End(f"`{row.path}` fails first", is_failure=True)
        self.shared.add(replace(row, **vars(verdict)))
        if verdict.verdict == "skipped":
            self.prospect.skip(phase)
            return None
        end: _End | None = None
        for step in phase.steps:
            if end is not None and phase.parallel.limit == 1:
                self.shared.add(replace(self._row(phase, step), verdict="skipped", why=end.why))
            else:
                end = self.step(phase, step, is_sure=verdict.verdict == "runs") or end
        return end if verdict.verdict == "runs" else None

    def step(self, phase: Phase, step: Step, *, is_sure: bool) -> _End | None:
        """Why the rest of this flow is not reached after this step. None if it is reached, or if that is not known."""
        self.prospect.exists = self.shared.exists
        row, verdict = self._row(phase, step), Verdict()
        try:
            verdict = self.prospect.verdict((), step.when)
            row = replace(row, **vars(verdict))
            if verdict.verdict == "skipped":
                self.prospect.steps[phase.id][step.id] = skipped()
                self.shared.add(row)
                return None
            row, child = self._work(row, step)
        except (Unresolved, NodeError) as error:
            return self._fails(row, error.message)
        runs = verdict.verdict == "runs"
        if runs and is_sure:
            self.prospect.steps[phase.id][step.id] = {"status": "done"}
        stop = None if step.stop_if is None else self.prospect.show(step.stop_if)
        always = isinstance(stop, Const) and is_true(stop.value)
        if step.stop_if is not None and stop is not None and (always or not isinstance(stop, Const)):
            row = replace(row, stops=in_words(step.stop_if if always else stop))
        self.shared.add(row)
        failed = child.run(PreviewPart()) if child is not None else None
        if failed is not None and failed.is_failure:
            return failed if runs else None
        return _End(f"`{row.path}` stops the flow first") if runs and always else None

    def _fails(self, row: PreviewRow, message: str) -> _End | None:
        if row.verdict == "depends":
            self.shared.add(replace(row, why=f"{row.why}; it would fail: {message}"))
            return None
        self.shared.add(replace(row, verdict="fails", why=message))
        return _End(f"`{row.path}` fails first", is_failure=True)

    def _work(self, row: PreviewRow, step: Step) -> tuple[PreviewRow, _Flow | None]:
        """The row with params, prompt, expectations and files of a step, and the flow that the step runs."""
        seen = {name: self.prospect.evaluate(value) for name, value in step.params.items()}
        shown = {name: self.prospect.show(value) for name, value in step.params.items()}
        self._refuse_paths(step, seen, shown)
        child = self._child(step.nested, seen, shown, row.path) if step.nested is not None else None
        prompt = None if step.prompt is None else self.prospect.prompt(step.prompt)
        self.prospect.exists = None  # expectations are checked after the node has run
        expect = filter(None, map(self.prospect.expectation, step.expect or ()))
        makes = [replace(made, path=self.prospect.show(made.path)) for made in step.makes]
        row = replace(
            row,
            flow=None if child is None else child.plan.id,
            nested=step.nested,
            params={name: as_data(value) for name, value in shown.items()},
            unknown=tuple(name for name, value in shown.items() if not isinstance(value, Const)),
            prompt=prompt,
            expect=tuple(map(expectation_words, expect)),
            makes=tuple(map(output_words, makes)),
        )
        return row, child

    def _refuse_paths(self, step: Step, seen: Mapping[str, Expression], shown: Mapping[str, Expression]) -> None:
        """Raise an error for a known path that is outside the project."""
        for name in step.paths:
            value, project = seen.get(name), str(self.prospect.given.context.get("project", ""))
            if isinstance(value, Const) and isinstance(value.value, str) and leads_out(value.value, project):
                message = f"`{name}` leads out of the project: {in_words(shown[name])}"
                raise NodeError("path-escape", message, transient=False)

    def _child(
        self, nested: str, seen: Mapping[str, Expression], shown: Mapping[str, Expression], path: str
    ) -> _Flow | None:
        """The flow that a step runs. None if it is not known yet which one."""
        name = seen.get(nested)
        if not isinstance(name, Const):
            return None
        plan = self.shared.find(as_text(name.value))
        if plan is None:
            raise NodeError("flow-missing", f"there is no flow `{as_text(name.value)}`", transient=False)
        if self.level >= MAX_DEPTH:
            raise NodeError("flow-depth", f"flows are nested deeper than {MAX_DEPTH}", transient=False)
        given = {key: value.value if isinstance(value, Const) else _Later for key, value in seen.items()}
        given = {key: value for key, value in given.items() if key != nested}
        if plan.is_foreign:
            given = {**dict.fromkeys(FROM_SCOPE.get(plan.kind, ()), _Later), **child_params(plan.kind, given)}
            given |= dict.fromkeys(missing_iterations(plan.kind, params_read(plan), given), _Later)
        params = with_defaults(plan, given)
        later = frozenset(f"params.{key}" for key, value in params.items() if value is _Later)
        hidden = frozenset(f"params.{key}" for key, value in shown.items() if not isinstance(value, Const))
        inner = Given(params, self.prospect.given.context, later, hidden)
        return _Flow(plan, inner, self.shared, f"{path}/", self.level + 1)
