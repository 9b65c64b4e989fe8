"""Previews what a flow would do, as far as it is known before it runs; as rows, lines and JSON. Pure.

It walks a plan as the interpreter of runs does. Results of steps are not known. Files are not known after the first
step that may run. Values of the environment decide conditions, but are never shown.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from handrail.base.dataclasses import dataclass, field, replace
from handrail.driven.artifacts.agentweaver_params import SCOPE_PARAM_NAMES, child_params, missing_iterations
from handrail.driven.expressions import tree
from handrail.driven.flows.keys import MAX_DEPTH
from handrail.driven.flows.plan import (
    Expectation,
    FlowFinder,
    FlowPlan,
    Phase,
    Prompt,
    Step,
    expectation_words,
    groups_of,
    made_file_words,
    path_segment,
    round_numbers,
)
from handrail.driven.flows.prompts import OPTIONAL_FILE, compose_prompt, language_part, without_missing
from handrail.driven.flows.results import params_read, skipped, with_defaults
from handrail.extensions.contracts import LastingError, NodeError
from handrail.source.field_checks import leads_out
from handrail.source.plain_text import plain, plain_lines
from handrail.source.values import Unresolved, as_text, is_true, shown

FileExists = Callable[[str], bool]
MOST_CONDITIONS = 3
MAX_ROWS = 10_000


@dataclass(frozen=True)
class PreviewInput:
    """The input of a flow. `later` are references that are not known yet, `hidden` are those that are not shown."""

    params: Mapping[str, Any]
    context: Mapping[str, Any]
    later: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()


@dataclass(frozen=True)
class PreviewPart:
    """The part of a flow to preview: from one phase to another."""

    start: str | None = None
    until: str | None = None


@dataclass(frozen=True)
class PreviewRow:
    """A phase or a step (`kind`), and its `verdict`: runs, skipped, depends or fails.

    `why` is the reason, `on` are the references it depends on. The `params` in `unknown` have no value yet, only text.
    `group` is the routing group of a step with an agent, `agent` its agent and model, if one is chosen.
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
    group: str | None = None
    agent: str | None = None
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


_UNKNOWN = object()
"""Stands for a parameter that is not known yet."""


@dataclass(frozen=True)
class _EarlyEnd:
    """Why the rest of the flow is not reached."""

    why: str
    is_failure: bool = False


class _Shared:
    """State that all flows of one preview share. `exists` is None once a step may have run."""

    def __init__(self, exists: FileExists, find: FlowFinder) -> None:
        self.exists: FileExists | None = exists
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
    exists: FileExists,
    find: FlowFinder,
    part: PreviewPart | None = None,
) -> list[PreviewRow]:
    """One row per phase and step. `exists` tells whether a file exists now."""
    shared = _Shared(exists, find)
    try:
        _FlowPreview(plan, PreviewInput(params, context), shared).run(part or PreviewPart())
    except _TooManyRows:
        shared.rows.append(PreviewRow("more", "", 0, "", "depends", f"there are more than {MAX_ROWS} phases and steps"))
    return shared.rows


class _FlowPreview:
    """The preview of one flow. A nested flow has its own, below the path of its step.

    `exists` is None once files may have changed.
    """

    def __init__(self, plan: FlowPlan, inputs: PreviewInput, shared: _Shared, base: str = "", level: int = 0) -> None:
        self.plan = plan
        self.shared = shared
        self.base = base
        self.level = level
        self.inputs = inputs
        self.steps: dict[str, dict[str, dict[str, Any]]] = {phase.id: {} for phase in plan.phases}
        self.exists = shared.exists
        self._guards: dict[tuple[int, bool], tree.Expression] = {}
        self._repeat: dict[str, Any] = {}
        self._later = inputs.later
        self._hidden = inputs.hidden

    def run(self, part: PreviewPart) -> _EarlyEnd | None:
        """Returns why the flow does not reach its last phase. None if it does, or if that is not known."""
        ids = [phase.id for phase in self.plan.phases]
        left_out = set(ids[: ids.index(part.start)]) if part.start in ids else set()
        end: _EarlyEnd | None = None
        for phases in groups_of(self.plan.phases):
            lanes = itertools.groupby(phases, key=lambda phase: phase.lane)
            ends = [self.lane(lane, end, left_out) for _, lane in lanes]
            end = end or next(filter(None, ends), None)
            if end is None and any(phase.id == part.until for phase in phases):
                end = _EarlyEnd("the run ends before this phase")
        return end

    def lane(self, phases: Iterable[Phase], end: _EarlyEnd | None, left_out: set[str]) -> _EarlyEnd | None:
        for phase in phases:
            if end is None and phase.id not in left_out:
                end = self.phase(phase)
                continue
            why = "the run starts after this phase" if end is None else end.why
            self._skip(replace(self._row(phase), why=why), phase)
        return end

    def _skip(self, row: PreviewRow, phase: Phase) -> None:
        self.shared.add(replace(row, verdict="skipped"))
        self.steps[phase.id] = {step.id: skipped() for step in phase.steps}

    def _row(self, phase: Phase, step: Step | None = None) -> PreviewRow:
        path = self.base + path_segment(phase.id)
        if step is None:
            row = PreviewRow("phase", path, 2 * self.level, phase.id, timeout=phase.timeout)
            limit = phase.parallel.limit if phase.parallel.limit > 1 else None
            return replace(row, lane=phase.lane.number + 1 if phase.lane else None, parallel=limit)
        row = PreviewRow("step", f"{path}/{path_segment(step.id)}", 2 * self.level + 1, step.id, timeout=step.timeout)
        return replace(row, node=step.node, group=step.routing_group, attempts=step.retry.attempts)

    def phase(self, phase: Phase) -> _EarlyEnd | None:
        self.exists = self.shared.exists
        row = replace(self._row(phase), rounds=self._enter(phase))
        try:
            row = self._with_verdict(row, phase.guards, phase.when)
        except Unresolved as error:
            return self._fails(row, error.message)
        if row.verdict == "skipped":
            self._skip(row, phase)
            return None
        self.shared.add(row)
        end: _EarlyEnd | None = None
        for step in phase.steps:
            if end is not None and phase.parallel.limit == 1:
                self.shared.add(replace(self._row(phase, step), verdict="skipped", why=end.why))
            else:
                end = self.step(phase, step, is_sure=row.verdict == "runs") or end
        return end if row.verdict == "runs" else None

    def step(self, phase: Phase, step: Step, *, is_sure: bool) -> _EarlyEnd | None:
        """Why the rest of this flow is not reached after this step. None if it is reached, or if that is not known."""
        self.exists = self.shared.exists
        row = self._row(phase, step)
        try:
            row = self._with_verdict(row, (), step.when)
            if row.verdict == "skipped":
                self.steps[phase.id][step.id] = skipped()
                self.shared.add(row)
                return None
            child, row = self._work(row, step)
        except (Unresolved, NodeError) as error:
            return self._fails(row, error.message)
        runs = row.verdict == "runs"
        if runs and is_sure:
            self.steps[phase.id][step.id] = {"status": "done"}
        stop = tree.Const(False) if step.stop_if is None else self.show(step.stop_if)
        always = isinstance(stop, tree.Const) and is_true(stop.value)
        if step.stop_if is not None and (always or not isinstance(stop, tree.Const)):
            row = replace(row, stops=tree.in_words(step.stop_if if always else stop))
        self.shared.add(row)
        child_end = child.run(PreviewPart()) if child is not None else None
        if child_end is not None and child_end.is_failure:
            return child_end if runs else None
        return _EarlyEnd(f"`{row.path}` stops the flow first") if runs and always else None

    def _fails(self, row: PreviewRow, message: str) -> _EarlyEnd | None:
        if row.verdict == "depends":
            self.shared.add(replace(row, why=f"{row.why}; it would fail: {message}"))
            return None
        self.shared.add(replace(row, verdict="fails", why=message))
        return _EarlyEnd(f"`{row.path}` fails first", is_failure=True)

    def _work(self, row: PreviewRow, step: Step) -> tuple[_FlowPreview | None, PreviewRow]:
        """The flow that a step runs, and its row with params, prompt, expectations and files."""
        values = {name: self.evaluate(value) for name, value in step.params.items()}
        texts = {name: self.show(value) for name, value in step.params.items()}
        for name in (param.name for param in step.declared.params if param.names == "path"):
            value, project = values.get(name), str(self.inputs.context.get("project", ""))
            if isinstance(value, tree.Const) and isinstance(value.value, str) and leads_out(value.value, project):
                message = f"`{name}` leads out of the project: {tree.in_words(texts[name])}"
                raise LastingError("path-escape", message)
        nests = step.declared.nests
        child = self._child(nests, values, texts, row.path) if nests is not None else None
        prompt = None if step.prompt is None else self.prompt(step.prompt)
        self.exists = None  # expectations are checked after the node has run
        expect = filter(None, map(self.expectation, step.expect or ()))
        makes = (replace(file, path=self.show(file.path)) for file in step.makes)
        return child, replace(
            row,
            flow=None if child is None else child.plan.id,
            nested=nests,
            params={name: tree.as_data(value) for name, value in texts.items()},
            unknown=tuple(name for name, value in texts.items() if not isinstance(value, tree.Const)),
            prompt=prompt,
            expect=tuple(map(expectation_words, expect)),
            makes=tuple(map(made_file_words, makes)),
        )

    def _child(
        self, nested: str, values: Mapping[str, tree.Expression], texts: Mapping[str, tree.Expression], path: str
    ) -> _FlowPreview | None:
        """The flow that a step runs. None if it is not known yet which one."""
        name = values.get(nested)
        if not isinstance(name, tree.Const):
            return None
        plan = self.shared.find(as_text(name.value))
        if plan is None:
            raise LastingError("flow-missing", f"there is no flow `{as_text(name.value)}`")
        if self.level >= MAX_DEPTH:
            raise LastingError("flow-depth", f"flows are nested deeper than {MAX_DEPTH}")
        params = {key: value.value if isinstance(value, tree.Const) else _UNKNOWN for key, value in values.items()}
        del params[nested]
        if plan.is_foreign:
            of_scope = dict.fromkeys(SCOPE_PARAM_NAMES.get(plan.kind, ()), _UNKNOWN)
            params = {**of_scope, **child_params(plan.kind, params)}
            params |= dict.fromkeys(missing_iterations(plan.kind, params_read(plan), params), _UNKNOWN)
        params = with_defaults(plan, params)
        later = frozenset(f"params.{key}" for key, value in params.items() if value is _UNKNOWN)
        hidden = frozenset(f"params.{key}" for key, value in texts.items() if not isinstance(value, tree.Const))
        inner = PreviewInput(params, self.inputs.context, later, hidden)
        return _FlowPreview(plan, inner, self.shared, f"{path}/", self.level + 1)

    def evaluate(self, expression: tree.Expression) -> tree.Expression:
        """A constant if the value is known. Raises `Unresolved` if it cannot have a value."""
        try:
            return self._evaluator(self._is_later).evaluate(expression)
        except Unresolved as error:
            raise tree.error_with_place(error, expression) from error

    def show(self, expression: tree.Expression) -> tree.Expression:
        """The same for people: hides the environment, and leaves what cannot be resolved."""
        try:
            return self._evaluator(self._is_not_shown).evaluate(expression)
        except Unresolved:
            return expression

    def _evaluator(self, is_later: Callable[[tree.Ref], bool]) -> tree.PartialEvaluator:
        env = self.inputs.context.get("env", {})
        allowed = {name: value for name, value in env.items() if name in self.plan.env}
        values = {
            "params": self.inputs.params,
            "flow": self.plan.constants,
            "context": {**self.inputs.context, "env": allowed},
            "repeat": self._repeat,
            "steps": self.steps,
        }
        return tree.PartialEvaluator(values, is_later, self.exists)

    def _is_later(self, ref: tree.Ref) -> bool:
        parts = ref.names
        match parts:
            case ["steps", phase, step, field, *_]:
                known = self.steps.get(phase, {}).get(step)
                return known is None or field not in known
            case ["steps", *_]:
                return True
            case ["context", name, *_]:
                return name != "env" and name not in self.inputs.context
        return ".".join(parts[:2]) in self._later

    def _is_not_shown(self, ref: tree.Ref) -> bool:
        parts = ref.names
        return parts[:2] == ["context", "env"] or ".".join(parts[:2]) in self._hidden or self._is_later(ref)

    def _enter(self, phase: Phase) -> dict[str, Any]:
        """Move to this phase. Returns the numbers and items of its round, as they are shown."""
        self._repeat, self._later, self._hidden = dict(phase.rounds), self.inputs.later, self.inputs.hidden
        numbers: dict[str, Any] = dict(round_numbers(phase))
        for name, item in phase.items:
            visible = self.show(item)
            numbers[name] = tree.as_data(visible)
            try:
                result = self.evaluate(item)
            except Unresolved:
                result = item
            if isinstance(result, tree.Const):
                self._repeat[name] = result.value
            else:
                self._later |= {f"repeat.{name}"}
            if not isinstance(visible, tree.Const):
                self._hidden |= {f"repeat.{name}"}
        return numbers

    def _with_verdict(
        self, row: PreviewRow, guards: tuple[tree.Expression, ...], when: tree.Expression | None
    ) -> PreviewRow:
        """The row of a phase or a step that runs only if all these conditions hold, with its verdict."""
        undecided: list[tree.Expression] = []
        for condition in (*guards, *([when] if when is not None else [])):
            try:
                result = self.evaluate(condition) if condition is when else self._guard(condition)
            except Unresolved:
                if not undecided:
                    raise
                result = condition  # the run may never evaluate it
            if not isinstance(result, tree.Const):
                undecided.append(condition)
            elif not is_true(result.value):
                return replace(row, verdict="skipped", why=f"{tree.in_words(condition)} does not hold")
        if not undecided:
            return row
        visible = list(map(self.show, undecided[-MOST_CONDITIONS:]))  # earlier rounds have shown the others
        on = dict.fromkeys(name for condition in visible for name in _waits_for(condition))
        more = f", and {len(undecided) - len(visible)} more" if len(undecided) > len(visible) else ""
        return replace(row, verdict="depends", why=" and ".join(map(tree.in_words, visible)) + more, on=tuple(on))

    def _guard(self, guard: tree.Expression) -> tree.Expression:
        """The value of a guard, cached: later rounds share the guard, and it refers only to steps before them."""
        key = (id(guard), self.exists is None)
        if key not in self._guards:
            self._guards[key] = self.evaluate(guard)
        return self._guards[key]

    def prompt(self, prompt: Prompt) -> str:
        if prompt.extra is not None:
            self.evaluate(prompt.extra)
        values = [self.evaluate(value) for value in prompt.values]
        known = {n: v.value for n, v in zip(prompt.names, values, strict=True) if isinstance(v, tree.Const)}
        for name, value in known.items():
            if name.endswith(OPTIONAL_FILE) and isinstance(value, str) and self.exists is not None:
                known[name] = value if self.exists(value) else None
        text = without_missing(prompt.text, known)
        body = tree.in_words(self.show(tree.Template(text, prompt.names, prompt.values)))
        extra = tree.Const(None) if prompt.extra is None else self.show(prompt.extra)
        more = "" if isinstance(extra, tree.Const) and extra.value is None else tree.in_words(extra)
        language = language_part(self.inputs.context.get("language"), is_foreign=self.plan.is_foreign)
        return compose_prompt(body, [more, language], is_plain=prompt.plain)

    def expectation(self, expectation: Expectation) -> Expectation | None:
        """The expectation with known values filled in. None if its condition does not hold."""
        when = None if expectation.when is None else self.show(expectation.when)
        if isinstance(when, tree.Const) and not is_true(when.value):
            return None
        params = {name: self.show(value) for name, value in expectation.params.items()}
        return replace(expectation, params=params, when=None if isinstance(when, tree.Const) else when)


def _waits_for(expression: tree.Expression) -> list[str]:
    """What an expression depends on: steps as `steps.PHASE.STEP`, other references in full, files by path."""
    names: list[str] = []
    for part in tree.walk(expression):
        if isinstance(part, tree.Ref):
            names.append(".".join(part.names[:3] if part.names[:1] == ["steps"] else part.names))
        elif isinstance(part, tree.Exists) and not tree.is_open(part.path):
            names.append(tree.in_words(part.path))
        elif isinstance(part, tree.Artifact):
            names.append(tree.in_words(part)[2:-1])
    return list(dict.fromkeys(names))


SIGNS = {"runs": "●", "skipped": "·", "depends": "?", "fails": "✗"}
_MOST = 200
_MOST_LINES = 40
_COMMON = ("kind", "path", "depth", "id", "verdict", "why", "on", "timeout")
_OF_KIND = {
    "phase": ("rounds", "lane", "parallel"),
    "step": ("node", "group", "agent", "attempts", "flow", "params", "unknown", "prompt", "expect", "makes", "stops"),
}


def rows_to_json(rows: Iterable[PreviewRow]) -> list[dict[str, Any]]:
    """The rows as JSON. Phases and steps have different keys."""
    data = []
    for row in rows:
        values = {name: getattr(row, name) for name in (*_COMMON, *_OF_KIND.get(row.kind, ()))}
        data.append({name: list(value) if isinstance(value, tuple) else value for name, value in values.items()})
    return data


def preview_lines(row: PreviewRow) -> Iterator[str]:
    """The lines of a row. They are safe to print."""
    indent = "  " * row.depth
    yield _short(f"{indent}{SIGNS[row.verdict]} {_head(row)}{_verdict(row)}")
    inner = f"{indent}    "
    yield from (_short(f"{inner}{line}") for line in _details(row))
    if row.prompt is not None:
        yield f"{inner}prompt:"
        lines = plain_lines(row.prompt.strip()).split("\n")
        yield from (f"{inner}  {line}".rstrip() for line in lines[:_MOST_LINES])
        if len(lines) > _MOST_LINES:
            yield f"{inner}  … {len(lines) - _MOST_LINES} more lines"


def _short(line: str) -> str:
    return shown(plain(line), _MOST)


def _head(row: PreviewRow) -> str:
    if row.kind == "step":
        return f"{row.id}: {row.node}"
    about = [f"{name} = {tree.in_words(tree.Const(value))}" for name, value in row.rounds.items()]
    about += [] if row.lane is None else [f"lane {row.lane}"]
    about += [] if row.parallel is None else [f"steps in parallel, up to {row.parallel}"]
    return row.id + (f" ({', '.join(about)})" if about else "")


def _verdict(row: PreviewRow) -> str:
    if row.verdict != "depends":
        return "" if row.verdict == "runs" else f": {row.verdict}, {row.why}"
    return f": depends on {', '.join(f'`{name}`' for name in row.on)}: {row.why}" if row.on else row.why


def _details(row: PreviewRow) -> Iterator[str]:
    if row.flow is not None:
        yield f"runs {row.flow}"
    for name, value in row.params.items():
        if row.flow is None or name != row.nested:
            yield f"{name}: {tree.in_words(tree.Const(value))}"
    if row.agent is not None:
        yield f"agent: {row.agent}"
    if row.attempts > 1:
        yield f"tried up to {row.attempts} times"
    if row.timeout is not None:
        yield f"time limit: {row.timeout:g} s"
    yield from (f"expects {text}" for text in row.expect)
    yield from (f"makes {text}" for text in row.makes)
    if row.stops is not None:
        yield f"stops the flow if: {row.stops}"
