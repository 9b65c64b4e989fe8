"""Draws a flow as SVG: its phases with their steps from top to bottom, repeats and parallel phases as frames. Pure.

The picture is legible in light and in dark. The same plan always gives the same text. Nested flows are only named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from handrail import registry
from handrail.expressions.tree import Const, Expression
from handrail.expressions.words import in_words
from handrail.flows.blocks import Block, Rounds, Single, blocks_of
from handrail.flows.plan import FlowPlan, Step
from handrail.source.dataclasses import dataclass
from handrail.source.plain import counted, one_line

CHARACTER, SIZE, LINE = 7.3, 12, 20
PAD, GAP, FRAME = 12, 22, 12
WIDEST = 92
"""The longest line, in characters."""
SIGNS = {"agent": "agent", "person": "asks", "flow": "flow", "work": "step"}
"""The words for the kinds of steps."""
STYLE = """
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
class Row:
    """One step: its kind, its text, and the conditions under which it runs or ends the flow."""

    kind: str
    text: str
    notes: tuple[str, ...]

    @property
    def height(self) -> int:
        return LINE * (1 + len(self.notes))

    @property
    def width(self) -> float:
        return TAG + PAD + max(map(len, (self.text, *self.notes))) * CHARACTER


def flow_picture(plan: FlowPlan) -> str:
    """The SVG text of a flow."""
    blocks = blocks_of(plan)
    inner = max([_width(block) for block in blocks], default=200.0)
    width, lines, y = round(inner + 2 * PAD), [], PAD
    for number, block in enumerate(blocks):
        lines += [_arrow(width / 2, y - GAP, y)] if number else []
        lines += _draw(block, PAD, y, width - 2 * PAD)
        y += _height(block) + GAP
    height = y - GAP + PAD
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    title = f"<title>{_escaped(f'The phases of {plan.id}')}</title>"
    page = f'<rect class="page" width="{width}" height="{height}"/>'
    return "\n".join([head, title, f"<style>{STYLE}</style>", page, *lines, "</svg>"]) + "\n"


def _draw(block: Block, x: float, y: float, width: float) -> Iterator[str]:
    if isinstance(block, Single):
        yield from _draw_phase(block, x, y, width)
        return
    yield _rect("frame", x, y, width, _height(block))
    for number, line in enumerate(_captions(block)):
        yield _text(x + FRAME, y + 15 + number * LINE, line, "dim")
    top = y + LINE * len(_captions(block)) + FRAME / 2
    for number, inner in enumerate(block.blocks):
        if number and isinstance(block, Rounds):
            yield _arrow(x + width / 2, top - GAP, top)
        yield from _draw(inner, x + FRAME, top, width - 2 * FRAME)
        top += _height(inner) + GAP


def _draw_phase(block: Single, x: float, y: float, width: float) -> Iterator[str]:
    yield _rect("box", x, y, width, _height(block))
    yield _text(x + PAD, y + 17, block.name, "title")
    at = y + LINE + 4
    if (condition := _condition(block.phase.when)) != "":
        yield _text(x + PAD, at + 12, condition, "dim")
        at += LINE
    for row in _rows(block):
        yield _rect(row.kind, x + PAD, at + 2, TAG - 6, LINE - 4)
        yield _text(x + PAD + (TAG - 6) / 2, at + 14, SIGNS[row.kind], "middle")
        yield _text(x + PAD + TAG, at + 14, row.text)
        for number, note in enumerate(row.notes, 1):
            yield _text(x + PAD + TAG, at + 12 + number * LINE, note, "dim")
        at += row.height


def _captions(block: Block) -> list[str]:
    if isinstance(block, Single):
        return []
    if not isinstance(block, Rounds):
        return [f"in parallel, up to {block.limit}"]
    again = [_cut(f"another round if {one_line(block.again)}")] if block.again is not None else []
    return [f"up to {counted(block.count, 'round')}", *again]


def _rows(block: Single) -> list[Row]:
    return [_row(step) for step in block.phase.steps]


def _row(step: Step) -> Row:
    kind, what = _kind(step)
    notes = (_condition(step.when), _condition(step.stop_if, "ends the flow if"))
    return Row(kind, _cut(one_line(f"{step.id}: {what}")), tuple(filter(None, notes)))


def _kind(step: Step) -> tuple[str, str]:
    """What a step is, and what it does in a few words."""
    if step.flow is not None:
        return "flow", str(step.flow.value) if isinstance(step.flow, Const) else "chosen by the run"
    node = registry.nodes().get(step.node)
    if node is not None and (node.NODE.routed or step.prompt is not None):
        name = step.prompt.name if step.prompt is not None and step.prompt.name is not None else step.node
        group = f" ({step.routing_group})" if step.routing_group else ""
        return "agent", f"{name}{group}"
    is_form = "formId" in step.params and node is not None and bool(node.NODE.makes)
    return ("person" if is_form or step.node in ASKING else "work"), step.node


def _condition(when: Expression | None, words: str = "if") -> str:
    return "" if when is None else _cut(f"{words} {one_line(in_words(when))}")


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _width(block: Block) -> float:
    if isinstance(block, Single):
        words = [block.name, _condition(block.phase.when)]
        return 2 * PAD + max([*(len(word) * CHARACTER for word in words), *(row.width for row in _rows(block))])
    captions = max(len(line) for line in _captions(block)) * CHARACTER
    return 2 * FRAME + max(captions, *(_width(inner) for inner in block.blocks))


def _height(block: Block) -> int:
    if isinstance(block, Single):
        extra = LINE if block.phase.when is not None else 0
        return LINE + 4 + extra + sum(row.height for row in _rows(block)) + 8
    return LINE * len(_captions(block)) + FRAME // 2 + _stacked(block.blocks) + FRAME


def _stacked(blocks: Sequence[Block]) -> int:
    return sum(map(_height, blocks)) + GAP * (len(blocks) - 1)


def _rect(kind: str, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5"/>'


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    how = ' text-anchor="middle"' if kind == "middle" else f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}"{how}>{_escaped(text)}</text>'


def _arrow(x: float, top: float, bottom: float) -> str:
    head = f"M {x - 4:g} {bottom - 6:g} L {x + 4:g} {bottom - 6:g} L {x:g} {bottom:g} Z"
    return f'<path class="arrow" d="M {x:g} {top:g} V {bottom - 6:g}"/><path class="head" d="{head}"/>'


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
