"""Draws a flow's plan as a text tree and as a Mermaid diagram. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from handrail.expressions.tree import Const
from handrail.expressions.words import in_words
from handrail.flows.outline import Finder, child_of
from handrail.flows.plan import FlowPlan, Param, Phase, Step, Together
from handrail.flows.words import after_words, expectation_words, output_words, prompt_words, round_numbers
from handrail.source.plain import counted, plain

_MOST = 160
_MOST_GUARDS = 3
_MERMAID = str.maketrans({"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;"})


def flow_tree(plan: FlowPlan, find: Finder) -> str:
    """Every phase with its steps and their settings. Nested flows are shown one level deep."""
    lines = [f"{plan.id} (flow)", *(f"  {line}" for line in _head(plan)), *_phases(plan, find, "  ")]
    return "\n".join(_short(line) for line in lines)


def _short(line: str) -> str:
    line = plain(line.replace("\n", " "))
    return line if len(line) <= _MOST else line[: _MOST - 1] + "…"


def _head(plan: FlowPlan) -> Iterator[str]:
    if plan.description:
        yield plan.description
    yield from (f"param {_param(param)}" for param in plan.params or ())
    yield from (f"constant {name}: {in_words(Const(value))}" for name, value in plan.constants.items())
    if plan.env:
        yield f"environment: {', '.join(plan.env)}"
    if plan.timeout is not None:
        yield f"time limit: {plan.timeout:g} s"
    if plan.again:
        yield f"continue: {plan.again}"


def _param(param: Param) -> str:
    about = f" ({param.about})" if param.about else ""
    return f"{param.name}{about}: {'required' if param.required else in_words(Const(param.default))}"


def _phases(plan: FlowPlan, find: Finder | None, indent: str) -> Iterator[str]:
    """The phases in order. Phases that run in parallel are below a line that says so."""
    group: int | None = None
    for number, phase in enumerate(plan.phases, 1):
        lane = phase.lane
        if lane is not None and lane.group != group:
            yield f"{indent}in parallel{_together(plan.groups[lane.group])}:"
        group = lane.group if lane is not None else None
        inner = indent if lane is None else indent + "  "
        yield f"{inner}{number}. {phase.id}{_round(phase)}"
        yield from (f"{inner}   {line}" for line in _of_phase(phase))
        for step in phase.steps:
            yield f"{inner}   - {step.id}: {step.node}"
            yield from (f"{inner}     {line}" for line in _of_step(step))
            child = child_of(step, find) if find is not None else None
            if child is not None:
                yield f"{inner}     runs {child.id}:"
                yield from _phases(child, None, f"{inner}       ")
        if phase.bounds:
            yield f"{inner}   then: the flow fails if `until` still does not hold"


def _together(how: Together) -> str:
    rest = ", and all finish even if one fails" if how.on_failure == "finish" else ""
    return f", up to {how.limit}{rest}"


def _round(phase: Phase) -> str:
    """`(i = 2, file = ${params.files[1]})`."""
    about = [f"{name} = {number}" for name, number in round_numbers(phase).items()]
    about.extend(f"{name} = {in_words(item)}" for name, item in phase.items)
    return f" ({', '.join(about)})" if about else ""


def _guards(phase: Phase) -> list[str]:
    """The last guards of a phase. Each round also has the guards of all earlier rounds, so only a few are shown."""
    shown = [in_words(guard) for guard in phase.guards[-_MOST_GUARDS:]]
    more = len(phase.guards) - len(shown)
    return [
        *([f"{counted(more, 'condition')} of earlier rounds {'holds' if more == 1 else 'hold'}"] if more else []),
        *shown,
    ]


def _of_phase(phase: Phase) -> Iterator[str]:
    yield from (f"only if: {guard}" for guard in _guards(phase))
    if phase.when is not None:
        yield f"when: {in_words(phase.when)}"
    if phase.parallel.limit > 1:
        yield f"steps in parallel{_together(phase.parallel)}"
    if phase.timeout is not None:
        yield f"time limit: {phase.timeout:g} s"


def _of_step(step: Step) -> Iterator[str]:
    if step.when is not None:
        yield f"when: {in_words(step.when)}"
    if step.routing_group:
        yield f"routing group: {step.routing_group}"
    yield from (f"{name}: {in_words(value)}" for name, value in step.params.items())
    if step.prompt is not None:
        yield f"prompt: {prompt_words(step.prompt)}"
        named = zip(step.prompt.names, step.prompt.values, strict=True) if step.prompt.name is not None else ()
        yield from (f"  {name}: {in_words(value)}" for name, value in named)
    if step.retry.attempts > 1:
        yield f"tried up to {step.retry.attempts} times, {step.retry.wait:g} s apart, × {step.retry.factor:g}"
    if step.timeout is not None:
        yield f"time limit: {step.timeout:g} s"
    if step.rerun:
        yield f"if interrupted: {_RERUNS[step.rerun]}"
    yield from (f"expects {expectation_words(expectation)}" for expectation in step.expect or ())
    yield from (f"makes {output_words(made)}" for made in step.makes)
    yield from (f"then {after_words(after)}" for after in step.after)
    if step.stop_if is not None:
        yield f"stops the flow ({step.stop_outcome}) if: {in_words(step.stop_if)}"


_RERUNS = {"safe": "run again", "ask": "ask a person", "never": "fail, never run again"}


def flow_mermaid(plan: FlowPlan) -> str:
    """A flowchart: one box per phase with its steps inside, and a box around phases that run in parallel."""
    lines = ["flowchart TD"]
    links: list[str] = []
    row: list[str] = []
    keyed = itertools.groupby(enumerate(plan.phases), key=lambda pair: pair[1].lane and pair[1].lane.group)
    for group, members in keyed:
        phases = list(members)
        indent = "  " if group is None else "    "
        boxes = [line for number, phase in phases for line in _box(phase, f"p{number}", indent)]
        if group is None:
            lines.extend(boxes)
            row.extend(f"p{number}" for number, _ in phases)
        else:
            lines.extend([f'  subgraph g{group}["in parallel{_together(plan.groups[group])}"]', *boxes, "  end"])
            links.extend(_lanes(phases))
            row.append(f"g{group}")
    links.extend(f"  {a} --> {b}" for a, b in itertools.pairwise([*row, "done"]))
    return "\n".join([*lines, "  done([done])", *links])


def _lanes(phases: list[tuple[int, Phase]]) -> Iterator[str]:
    """Arrows between phases of the same lane."""
    for (a, left), (b, right) in itertools.pairwise(phases):
        if left.lane == right.lane:
            yield f"  p{a} --> p{b}"


def _box(phase: Phase, id_: str, indent: str) -> Iterator[str]:
    asked = [*_guards(phase), *([in_words(phase.when)] if phase.when is not None else [])]
    title = phase.id + (f" when {' and '.join(asked)}" if asked else "")
    if not phase.steps:
        yield f'{indent}{id_}["{_label(title)}"]'
        return
    yield f'{indent}subgraph {id_}["{_label(title)}"]'
    for number, step in enumerate(phase.steps):
        opening, closing = ("[[", "]]") if step.nested is not None else ("[", "]")
        yield f'{indent}  {id_}s{number}{opening}"{_label(_node(step))}"{closing}'
    if phase.parallel.limit == 1:
        pairs = itertools.pairwise(range(len(phase.steps)))
        yield from (f"{indent}  {id_}s{a} --> {id_}s{b}" for a, b in pairs)
    yield f"{indent}end"


def _node(step: Step) -> str:
    what = f"runs {in_words(step.flow)}" if step.flow is not None else step.node
    return f"{step.id}: {what}" + (f" when {in_words(step.when)}" if step.when is not None else "")


def _label(text: str) -> str:
    return _short(text).translate(_MERMAID)
