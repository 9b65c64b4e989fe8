"""When each step worked and waited, as bars of characters. Idle times are shortened. Pure.

`█` work, `x` a try that failed, `─` a pause between tries, `▒` delayed, `┄` a person was asked, `·` skipped, a blank
inside a bar: no process drove the run. An open bar ends with `>`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from handrail.topics.rows import Row
from handrail.tui.drawing.tree import Branch, Folds, Tree
from handrail.tui.drawing.words import Line, Piece, Times, age, cell, in_lines, line, sign
from handrail.view.columns import columns

IDLE = 30.0
"""In seconds: if nothing works or waits for longer, that time is cut out of the scale."""
CUT = 2.0
MARKS = {"work": "█", "pause": "─", "delay": "▒", "asked": "┄", "away": " "}
STYLES = {"work": "run", "pause": "dim", "delay": "delay", "asked": "need", "away": ""}
ENDS = {"failed": ("x", "fail"), "interrupted": ("!", "need")}
"""How a bar that was not done ends. These marks are seen even if the next bar begins in the same column."""
LEGEND = ("█ work", "x failed", "! interrupted", "─ pause", "▒ delayed", "┄ asked", "· skipped", "> goes on")


class Scale:
    """Maps points in time to columns. Times in which no bar was open take no room but a mark."""

    def __init__(self, bars: list[Row], now: float, width: int) -> None:
        spans = sorted((bar["from"], now if bar.get("to") is None else bar["to"]) for bar in bars)
        self.spans: list[tuple[float, float]] = []
        for begin, end in spans:
            if self.spans and begin - self.spans[-1][1] <= IDLE:
                self.spans[-1] = (self.spans[-1][0], max(end, self.spans[-1][1]))
            else:
                self.spans.append((begin, end))
        self.width = max(1, width - 5 * (len(self.spans) - 1))
        self.total = sum(end - begin for begin, end in self.spans) or 1.0

    def column(self, at: float) -> int:
        """The column of a point in time."""
        passed, cuts = 0.0, 0
        for number, (begin, end) in enumerate(self.spans):
            if at < begin:
                break
            passed += min(at, end) - begin
            cuts = number
        return min(int(passed / self.total * self.width), self.width - 1) + 5 * cuts

    def cuts(self) -> Iterator[tuple[int, str]]:
        """Where idle times are cut out, and how long they were."""
        for (_, end), (begin, _) in zip(self.spans, self.spans[1:], strict=False):
            yield self.column(end) + 1, f"⋯{age(begin - end)}⋯"[:5]


def timeline_lines(tree: Tree, bars: Iterable[Row], folds: Folds, times: Times, width: int) -> Iterator[Line]:
    """One line per visible row of the tree, with the bars of the step, or of all steps below a folded row."""
    shown = [bar for bar in bars if isinstance(bar.get("from"), int | float)]
    names = max(20, min(34, width // 3))
    room = max(10, width - names - 2)
    if not shown:
        yield line(None, Piece("  Nothing has run yet.", "dim"))
        return
    scale = Scale(shown, times.now, room)
    by_node: dict[str, list[Row]] = {}
    for bar in sorted(shown, key=lambda bar: (bar["from"], bar["id"])):
        by_node.setdefault(str(bar.get("node")), []).append(bar)
    yield line(None, Piece(cell("", names + 1) + _head(scale, times, room), "dim"))
    for branch in tree.visible(folds):
        own = by_node.get(str(branch.row["id"]), [])
        if branch.is_folded or branch.row.get("kind") not in ("step",):
            own = [*own, *_below(tree, str(branch.row["id"]), by_node)] if branch.is_folded else own
        yield line(branch.row["id"], *_name(branch, names), *_drawn(branch.row, own, scale, times, room))
    for part in in_lines(LEGEND, width - 1, "  "):
        yield line(None, Piece(f" {part}", "dim"))


def _below(tree: Tree, id_: str, by_node: dict[str, list[Row]]) -> Iterator[Row]:
    for row in tree.below(id_):
        yield from by_node.get(str(row["id"]), ())
        yield from _below(tree, str(row["id"]), by_node)


def _name(branch: Branch, width: int) -> tuple[Piece, ...]:
    mark = " " if branch.is_folded is None else "▸" if branch.is_folded else "▾"
    lead = " " + "  " * branch.depth + mark + " "
    name = cell(str(branch.row.get("name") or branch.row["id"]), max(1, width - columns(lead) - 2))
    return Piece(lead), sign(str(branch.row.get("status"))), Piece(f" {name} ")


def _head(scale: Scale, times: Times, room: int) -> str:
    begin, end = scale.spans[0][0], scale.spans[-1][1]
    head = list(cell(times.of_day(begin), room))
    last = times.of_day(end)
    if room > 2 * len(last) + 2:
        head[room - len(last) :] = last
    for at, text in scale.cuts():
        if "".join(head[at : at + len(text)]).isspace():
            head[at : at + len(text)] = text
    return "".join(head)[:room]


def _drawn(row: Row, bars: list[Row], scale: Scale, times: Times, room: int) -> Iterator[Piece]:
    """The bars of a row: pieces of equal style. The end of a try that failed is an `x`."""
    cells: list[tuple[str, str]] = [(" ", "")] * room
    if not bars and row.get("status") == "skipped":
        cells[0] = ("·", "dim")
    ends: dict[int, tuple[str, str]] = {}
    for bar in bars:
        kind = str(bar.get("kind"))
        end = times.now if bar.get("to") is None else bar["to"]
        first, last = scale.column(bar["from"]), min(scale.column(end), room - 1)
        for at in range(first, last + 1):
            if kind != "away":
                cells[at] = (MARKS.get(kind, "█"), STYLES.get(kind, ""))
        mark = (">", "run") if bar.get("to") is None else ENDS.get(str(bar.get("end")))
        if mark is not None:
            ends[last] = mark
    for at, mark in ends.items():
        cells[at] = mark
    begin = 0
    for at in range(1, room + 1):
        if at == room or cells[at][1] != cells[begin][1]:
            yield Piece("".join(char for char, _ in cells[begin:at]), cells[begin][1])
            begin = at
