"""Draws flows and workflows: as a text tree, as a Mermaid diagram, and flows as SVG. Pure.

The SVG is legible in light and in dark. The same plan always gives the same text. Nested flows are only named in it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from html import escape

from handrail.base.dataclasses import dataclass
from handrail.driven.expressions.tree import Const, Expression, in_words
from handrail.driven.flows.overview import Block, ParallelBlock, PhaseBlock, RepeatBlock, blocks_of
from handrail.driven.flows.plan import (
    FlowFinder,
    FlowPlan,
    Parallelism,
    Phase,
    Step,
    after_words,
    child_of,
    expectation_words,
    made_file_words,
    prompt_words,
)
from handrail.guided.sessions.words import allowed_tools
from handrail.guided.workflows.plan import OutlineItem, PhaseItem, Plan, outline
from handrail.source.plain_text import one_line, plain
from handrail.source.values import shown

_MOST = 160
_MERMAID = str.maketrans({"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;"})


def flow_tree(plan: FlowPlan, find: FlowFinder) -> str:
    """Every phase with its steps and their settings. Nested flows are shown one level deep."""
    lines = [f"{plan.id} (flow)", *(f"  {line}" for line in _head(plan)), *_phases(plan, find, "  ")]
    return "\n".join(_short_line(line) for line in lines)


def _short_line(line: str) -> str:
    return shown(plain(line.replace("\n", " ")), _MOST)


def _head(plan: FlowPlan) -> Iterator[str]:
    if plan.description:
        yield plan.description
    for param in plan.params or ():
        default = "required" if param.required else in_words(Const(param.default))
        yield f"param {param.name}{f' ({param.about})' if param.about else ''}: {default}"
    yield from (f"constant {name}: {in_words(Const(value))}" for name, value in plan.constants.items())
    if plan.env:
        yield f"environment: {', '.join(plan.env)}"
    if plan.timeout is not None:
        yield f"time limit: {plan.timeout:g} s"
    if plan.again:
        yield f"continue: {plan.again}"


def _phases(plan: FlowPlan, find: FlowFinder | None, indent: str) -> Iterator[str]:
    """The phases in order. Those of a repeat are there once, below a line that says how often they run."""
    return _block_lines(blocks_of(plan), find, indent, itertools.count(1))


def _block_lines(
    blocks: Sequence[Block], find: FlowFinder | None, indent: str, numbers: Iterator[int]
) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, PhaseBlock):
            yield f"{indent}{next(numbers)}. {block.name}"
            yield from (f"{indent}   {line}" for line in _phase_lines(block.phase, find))
        else:
            yield f"{indent}{_block_words(block)}:"
            yield from _block_lines(block.blocks, find, f"{indent}  ", numbers)


def _block_words(block: RepeatBlock | ParallelBlock) -> str:
    return block.words if isinstance(block, RepeatBlock) else f"in parallel{_parallel_words(block.parallel)}"


def _parallel_words(parallelism: Parallelism) -> str:
    ending = ", and all finish even if one fails" if parallelism.on_failure == "finish" else ""
    return f", up to {parallelism.limit}{ending}"


def _phase_lines(phase: Phase, find: FlowFinder | None) -> Iterator[str]:
    if phase.when is not None:
        yield f"when: {in_words(phase.when)}"
    if phase.parallel.limit > 1:
        yield f"steps in parallel{_parallel_words(phase.parallel)}"
    if phase.timeout is not None:
        yield f"time limit: {phase.timeout:g} s"
    for step in phase.steps:
        yield f"- {step.id}: {step.node}"
        yield from (f"  {line}" for line in _step_lines(step))
        child = child_of(step, find) if find is not None else None
        if child is not None:
            yield f"  runs {child.id}:"
            yield from _phases(child, None, "    ")


def _step_lines(step: Step) -> Iterator[str]:
    if step.when is not None:
        yield f"when: {in_words(step.when)}"
    if step.routing_group:
        yield f"routing group: {step.routing_group}"
    yield from (f"{name}: {in_words(value)}" for name, value in step.params.items())
    if step.prompt is not None:
        yield f"prompt: {prompt_words(step.prompt)}"
        values = zip(step.prompt.names, step.prompt.values, strict=True) if step.prompt.name is not None else ()
        yield from (f"  {name}: {in_words(value)}" for name, value in values)
    if step.retry.attempts > 1:
        yield f"tried up to {step.retry.attempts} times, {step.retry.wait:g} s apart, × {step.retry.factor:g}"
    if step.timeout is not None:
        yield f"time limit: {step.timeout:g} s"
    if step.rerun:
        yield f"if interrupted: {_RERUNS[step.rerun]}"
    yield from (f"expects {expectation_words(expectation)}" for expectation in step.expect or ())
    yield from (f"makes {made_file_words(file)}" for file in step.makes)
    yield from (f"then {after_words(action)}" for action in step.after)
    if step.stop_if is not None:
        yield f"stops the flow ({step.stop_outcome}) if: {in_words(step.stop_if)}"


_RERUNS = {"safe": "run again", "ask": "ask a person", "never": "fail, never run again"}


def flow_mermaid(plan: FlowPlan) -> str:
    """A flowchart: one box per phase with its steps inside, and a box around a repeat, and around parallel phases."""
    links: list[str] = []
    lines = list(_boxes([*blocks_of(plan), None], "  ", itertools.count(), links))
    return "\n".join(["flowchart TD", *lines, *links])


def _boxes(blocks: Sequence[Block | None], indent: str, numbers: Iterator[int], links: list[str]) -> Iterator[str]:
    """The boxes of blocks that run one after the other; None is the end. `links` gets the arrows between them."""
    ids: list[str] = []
    for block in blocks:
        ids.append("done" if block is None else f"p{next(numbers)}")
        if block is None:
            yield f"{indent}done([done])"
        elif isinstance(block, PhaseBlock):
            yield from _box(block, ids[-1], indent)
        else:
            yield f'{indent}subgraph {ids[-1]}["{_label(_block_words(block))}"]'
            lanes = [[one] for one in block.blocks] if isinstance(block, ParallelBlock) else [block.blocks]
            for lane in lanes:
                yield from _boxes(lane, f"{indent}  ", numbers, links)
            yield f"{indent}end"
    links.extend(f"  {a} --> {b}" for a, b in itertools.pairwise(ids))


def _box(block: PhaseBlock, id_: str, indent: str) -> Iterator[str]:
    phase = block.phase
    title = block.name + (f" when {in_words(phase.when)}" if phase.when is not None else "")
    if not phase.steps:
        yield f'{indent}{id_}["{_label(title)}"]'
        return
    yield f'{indent}subgraph {id_}["{_label(title)}"]'
    for number, step in enumerate(phase.steps):
        opening, closing = ("[[", "]]") if step.declared.nests is not None else ("[", "]")
        yield f'{indent}  {id_}s{number}{opening}"{_label(_node(step))}"{closing}'
    if phase.parallel.limit == 1:
        pairs = itertools.pairwise(range(len(phase.steps)))
        yield from (f"{indent}  {id_}s{a} --> {id_}s{b}" for a, b in pairs)
    yield f"{indent}end"


def _node(step: Step) -> str:
    action = f"runs {in_words(step.flow)}" if step.flow is not None else step.node
    return f"{step.id}: {action}" + (f" when {in_words(step.when)}" if step.when is not None else "")


def _label(text: str) -> str:
    return _short_line(text).translate(_MERMAID)


def workflow_tree(plan: Plan) -> str:
    """Every phase with its allowed tools and exit checks, indented below its workflow."""
    return "\n".join(map(plain, [f"{plan.name} ({plan.key})", *_workflow_lines(outline(plan), "  ")]))


def _workflow_lines(items: Sequence[OutlineItem], indent: str) -> Iterator[str]:
    for item in items:
        number = f"{indent}{item.position + 1}."
        if not isinstance(item, PhaseItem):
            yield f"{number} {item.name} ({item.key})"
            yield from _workflow_lines(item.items, f"{indent}  ")
            continue
        stop = item.stop
        yield f"{number} {stop.emoji} {stop.name}"
        if stop.deny is not None or stop.allow is not None:
            yield f"{indent}   tools: {allowed_tools(stop) or 'none'}"
        yield from (f"{indent}   exit: {check.claim}" for check in stop.checks)


def workflow_mermaid(plan: Plan) -> str:
    """A flowchart: one node per phase, one box per subworkflow."""
    ids = [*(f"p{at}" for at in range(len(plan.stops))), "done"]
    links = [f"  {a} --> {b}" for a, b in itertools.pairwise(ids)]
    return "\n".join(["flowchart TD", *_workflow_boxes(outline(plan), 0), "  done([done])", *links])


def _workflow_boxes(items: Sequence[OutlineItem], depth: int) -> Iterator[str]:
    indent = "  " * (depth + 1)
    for item in items:
        if isinstance(item, PhaseItem):
            yield f'{indent}p{item.at}["{_quoted(f"{item.stop.emoji} {item.stop.name}")}"]'
        else:
            yield f'{indent}subgraph g{item.at}_{depth}["{_quoted(item.name)}"]'
            yield from _workflow_boxes(item.items, depth + 1)
            yield f"{indent}end"


def _quoted(text: str) -> str:
    return text.replace("#", "#35;").replace('"', "#quot;").replace("\n", " ")


CHARACTER, SIZE, LINE = 7.3, 12, 20
PAD, GAP, FRAME = 12, 22, 12
WIDEST = 92
"""The longest line, in characters."""
KIND_WORDS = {"agent": "agent", "person": "asks", "flow": "flow", "work": "step"}
"""The words for the kinds of steps."""
SVG_STYLE = """
  .page { fill: #ffffff } .box { fill: #f6f8fa; stroke: #8c959f }
  .frame { fill: none; stroke: #8c959f; stroke-dasharray: 5 4 }
  text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328 }
  .title { font-weight: 700 } .dim { fill: #59636e } .arrow { stroke: #59636e; fill: none } .head { fill: #59636e }
  .agent { fill: #ddf4ff; stroke: #0969da } .person { fill: #fff8c5; stroke: #9a6700 }
  .flow { fill: #fbefff; stroke: #8250df } .work { fill: #ffffff; stroke: #8c959f }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } .box { fill: #151b23; stroke: #656c76 } .frame { stroke: #656c76 }
    text { fill: #f0f6fc } .dim { fill: #9198a1 } .arrow { stroke: #9198a1 } .head { fill: #9198a1 }
    .agent { fill: #0c2d6b; stroke: #4493f8 } .person { fill: #3b2300; stroke: #d29922 }
    .flow { fill: #271052; stroke: #ab7df8 } .work { fill: #0d1117; stroke: #656c76 }
  }
"""
ASKING = ("approve", "propose")
"""Nodes that ask a person without a form."""
TAG = 52
"""The width of the sign of a step."""


@dataclass(frozen=True)
class Box:
    """A part of a picture: its smallest size, and what draws it, given its corner and its width."""

    width: float
    height: int
    draw: Callable[[float, float, float], Iterator[str]]


def flow_picture(plan: FlowPlan) -> str:
    """The SVG text of a flow."""
    boxes = [_block_box(block) for block in blocks_of(plan)]
    width = round(max((box.width for box in boxes), default=200.0) + 2 * PAD)
    height = _stacked_height(boxes) + 2 * PAD
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    title = f"<title>{escape(f'The phases of {plan.id}', quote=False)}</title>"
    page = f'<rect class="page" width="{width}" height="{height}"/>'
    lines = _stack(boxes, PAD, PAD, width - 2 * PAD, has_arrows=True)
    return "\n".join([head, title, f"<style>{SVG_STYLE}</style>", page, *lines, "</svg>"]) + "\n"


def _block_box(block: Block) -> Box:
    if isinstance(block, PhaseBlock):
        return _phase_box(block)
    caption = shown(one_line(_block_words(block)), WIDEST)
    inner = [_block_box(one) for one in block.blocks]

    def draw(x: float, y: float, width: float) -> Iterator[str]:
        yield _rect("frame", x, y, width, box.height)
        yield _text(x + FRAME, y + 15, caption, "dim")
        is_repeat = isinstance(block, RepeatBlock)
        yield from _stack(inner, x + FRAME, y + LINE + FRAME / 2, width - 2 * FRAME, has_arrows=is_repeat)

    widest = max(len(caption) * CHARACTER, *(one.width for one in inner))
    box = Box(2 * FRAME + widest, LINE + FRAME // 2 + _stacked_height(inner) + FRAME, draw)
    return box


def _phase_box(block: PhaseBlock) -> Box:
    condition = _condition(block.phase.when)
    steps = [_step_box(step) for step in block.phase.steps]
    head = LINE * (2 if condition else 1) + 4

    def draw(x: float, y: float, width: float) -> Iterator[str]:
        yield _rect("box", x, y, width, box.height)
        yield _text(x + PAD, y + 17, block.name, "title")
        if condition:
            yield _text(x + PAD, y + LINE + 16, condition, "dim")
        top = y + head
        for step in steps:
            yield from step.draw(x, top, width)
            top += step.height

    widths = [2 * PAD + len(line) * CHARACTER for line in (block.name, condition)]
    box = Box(max([*widths, *(step.width for step in steps)]), head + sum(step.height for step in steps) + 8, draw)
    return box


def _step_box(step: Step) -> Box:
    """One step: its kind, its text, and the conditions under which it runs or ends the flow."""
    kind, action = _kind(step)
    line = shown(one_line(f"{step.id}: {action}"), WIDEST)
    notes = list(filter(None, (_condition(step.when), _condition(step.stop_if, "ends the flow if"))))

    def draw(x: float, y: float, width: float) -> Iterator[str]:
        del width
        yield _rect(kind, x + PAD, y + 2, TAG - 6, LINE - 4)
        yield _text(x + PAD + (TAG - 6) / 2, y + 14, KIND_WORDS[kind], "middle")
        yield _text(x + PAD + TAG, y + 14, line)
        for number, note in enumerate(notes, 1):
            yield _text(x + PAD + TAG, y + 12 + number * LINE, note, "dim")

    widest = max(map(len, (line, *notes))) * CHARACTER
    return Box(2 * PAD + TAG + PAD + widest, LINE * (1 + len(notes)), draw)


def _stack(boxes: Sequence[Box], x: float, y: float, width: float, *, has_arrows: bool) -> Iterator[str]:
    for number, box in enumerate(boxes):
        if number and has_arrows:
            middle, end = x + width / 2, y - 6
            head = f"M {middle - 4:g} {end:g} L {middle + 4:g} {end:g} L {middle:g} {y:g} Z"
            yield f'<path class="arrow" d="M {middle:g} {y - GAP:g} V {end:g}"/><path class="head" d="{head}"/>'
        yield from box.draw(x, y, width)
        y += box.height + GAP


def _stacked_height(boxes: Sequence[Box]) -> int:
    return sum(box.height for box in boxes) + GAP * (len(boxes) - 1)


def _kind(step: Step) -> tuple[str, str]:
    """What a step is, and what it does in a few words."""
    if step.flow is not None:
        return "flow", str(step.flow.value) if isinstance(step.flow, Const) else "chosen by the run"
    if step.declared.routed or step.prompt is not None:
        name = step.prompt.name if step.prompt is not None and step.prompt.name is not None else step.node
        group = f" ({step.routing_group})" if step.routing_group else ""
        return "agent", f"{name}{group}"
    is_form = "formId" in step.params and bool(step.declared.makes)
    return ("person" if is_form or step.node in ASKING else "work"), step.node


def _condition(expression: Expression | None, words: str = "if") -> str:
    return "" if expression is None else shown(f"{words} {one_line(in_words(expression))}", WIDEST)


def _rect(kind: str, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5"/>'


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    attribute = ' text-anchor="middle"' if kind == "middle" else f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}"{attribute}>{escape(text, quote=False)}</text>'
