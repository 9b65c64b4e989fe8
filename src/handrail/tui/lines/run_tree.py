"""The steps of a run as lines of a tree with columns, and as bars of a timeline. Pure.

The tree has folds, rounds, nested flows, durations and costs. In the timeline idle times are shortened: `█` work, `x`
a try that failed, `─` a pause between tries, `▒` delayed, `┄` a person was asked, `·` skipped, a blank inside a bar:
no process drove the run. An open bar ends with `>`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from handrail.tui.lines import words
from handrail.view.rows.rows import Row
from handrail.view.rows.run_tree import copies_words, joined_rounds, repeat_words
from handrail.view.text.columns import columns

Folds = Mapping[str, bool]
"""What a person folded (True) or unfolded, by the id of the row."""
MANY = 40
OPEN = ("running", "waiting", "delayed", "failed")


class Branch(NamedTuple):
    """A visible row of the tree."""

    row: Row
    depth: int
    is_folded: bool | None  # None: there is nothing below it

    @property
    def lead(self) -> str:
        mark = " " if self.is_folded is None else "▸" if self.is_folded else "▾"
        return f" {'  ' * self.depth}{mark} "


class FoldedTree:
    """The nodes of a run, by their parents. A round with one phase shows the steps of that phase as its own."""

    def __init__(self, nodes: Iterable[Row]) -> None:
        rows = sorted(nodes, key=lambda row: row.get("order", 0))
        self.rows: dict[str, Row] = {row["id"]: row for row in rows}
        self._children: dict[str, list[Row]] = {}
        for row in rows:
            self._children.setdefault(str(row.get("parent") or ""), []).append(row)

    def children_of(self, id_: str) -> list[Row]:
        children = self._children.get(id_, [])
        if len(children) == 1 and children[0].get("kind") == "phase" and self.rows.get(id_, {}).get("kind") == "round":
            return self._children.get(children[0]["id"], [])
        return children

    def parent(self, id_: str) -> str | None:
        """The row above, as it is shown; None at the top."""
        parent = str(self.rows.get(id_, {}).get("parent") or "")
        if not parent:
            return None
        grandparent = str(self.rows.get(parent, {}).get("parent") or "")
        is_hidden = grandparent and parent not in {row["id"] for row in self.children_of(grandparent)}
        return grandparent if is_hidden else parent

    def is_foldable(self, id_: str) -> bool:
        return bool(self._children.get(id_)) or bool(self.rows.get(id_, {}).get("children"))

    def is_folded(self, id_: str, folds: Folds) -> bool:
        """As the person chose; else what is done is folded, if it is a round, a nested flow, or in a large tree."""
        if id_ in folds:
            return folds[id_]
        row = self.rows[id_]
        if row.get("status") in OPEN:
            return False
        if row.get("kind") == "round":
            return not self._is_last_round(row)
        is_needless = row.get("kind") == "repeat" and row.get("status") == "skipped"
        return row.get("kind") == "step" or is_needless or (row.get("kind") == "phase" and len(self.rows) > MANY)

    def _is_last_round(self, row: Row) -> bool:
        rounds = [one for one in self._children.get(str(row.get("parent")), []) if one.get("status") != "pending"]
        rounds_that_ran = [one for one in rounds if one.get("status") != "skipped"]
        return bool(rounds_that_ran) and rounds_that_ran[-1]["id"] == row["id"]

    def visible_branches(self, folds: Folds, id_: str = "", depth: int = 0) -> Iterator[Branch]:
        for first, *others in joined_rounds(self.children_of(id_)):
            if others and folds.get(str(first["id"])) is not False:
                yield Branch({**first, "kind": "rounds", "name": copies_words(first, others[-1])}, depth, True)
                continue
            for row in (first, *others):
                child_id = str(row["id"])
                is_folded = self.is_folded(child_id, folds) if self.is_foldable(child_id) else None
                yield Branch(row, depth, is_folded)
                if is_folded is False:
                    yield from self.visible_branches(folds, child_id, depth + 1)

    def with_sums(self, row: Row) -> Row:
        """A repeat or a round with the times and the costs of what is in it."""
        if row.get("kind") not in ("repeat", "round") or row.get("started") is not None:
            return row
        children = [self.with_sums(one) for one in self._children.get(str(row["id"]), [])]
        starts = [one["started"] for one in children if one.get("started") is not None]
        ends = [one.get("ended") for one in children if one.get("started") is not None]
        usages = [one["usage"] for one in children if one.get("usage")]
        usage = {
            "usd": sum(one["usd"] for one in usages if one.get("usd") is not None) or None,
            "complete": all(one.get("complete", True) for one in usages),
        }
        end = None if not ends or None in ends else max(filter(None, ends), default=None)
        times = {"started": min(starts, default=None), "ended": end}
        reasons = (one["why"] for one in children if one.get("why") and row.get("status") == "skipped")
        return {**row, **times, "usage": usage if usages else {}, "why": row.get("why") or next(reasons, None)}

    def first_step(self) -> str | None:
        """The row that a person wants to see first: what waits, else what failed, else what runs. None if all ended."""
        steps = [row for row in self.rows.values() if row.get("kind") == "step"]
        for status in ("waiting", "failed", "interrupted", "cancelled", "running", "delayed"):
            if ids := [str(row["id"]) for row in steps if row.get("status") == status]:
                return max(ids, key=lambda id_: id_.count("/"))
        return None

    def place(self, id_: str) -> str:
        """`review › 2 › look`: the way to a row in words."""
        parts: list[str] = []
        row_id: str | None = id_
        while row_id:
            row = self.rows.get(row_id, {})
            parts.insert(0, str(row.get("name") or row_id).removeprefix("round "))
            row_id = self.parent(row_id)
        return " › ".join(parts)


def tree_lines(
    tree: FoldedTree, folds: Folds, times: words.Times, width: int, questions: Mapping[str, str] | None = None
) -> Iterator[words.TextLine]:
    """All visible rows. `questions` has the question of each step that waits for its answer."""
    for branch in tree.visible_branches(folds):
        question = (questions or {}).get(str(branch.row["id"]))
        row = {**tree.with_sums(branch.row), **({"doing": question, "who": "", "node": ""} if question else {})}
        yield _tree_line(branch._replace(row=row), times, width)


def _tree_line(branch: Branch, times: words.Times, width: int) -> words.TextLine:
    row = branch.row
    lead = branch.lead
    status = str(row.get("status") or "pending")
    name = str(row.get("name") or row["id"])
    if row.get("kind") == "repeat":
        name += f"  {repeat_words(row)}"
    took, cost = took_words(row, times), cost_words(row)
    is_wide = width >= 66
    ends = words.right(took, 12 if is_wide else 10) + (words.right(cost, 9 if is_wide else 7) if width >= 50 else "")
    room = max(8, width - columns(lead) - 2 - columns(ends) - 1)
    is_step = row.get("kind") == "step"
    about = _about(row)
    if is_step or about:
        name_width = min(max(12, columns(name)), room)
        tries = _tries(row) if room - name_width > 24 else ""
        middle = words.cell(name, name_width) + " " + words.cell(about, room - name_width - 1 - columns(tries)) + tries
    else:
        middle = words.cell(name, room)
    is_dim = status in ("skipped", "pending")
    style = "dim" if is_dim else "" if is_step else "bold"
    pieces = words.Piece(middle, style), words.Piece(f" {ends}", "dim" * is_dim)
    return words.line(row["id"], lead, words.sign(status), " ", *pieces)


def _about(row: Row) -> str:
    """What runs in a row, or why it did not."""
    status, reason = row.get("status"), row.get("why")
    if reason and status in ("failed", "skipped", "done"):
        return str(reason.get("message") or reason.get("code") or "")
    if row.get("kind") != "step":
        return ""
    if status in ("running", "waiting", "delayed") and row.get("doing"):
        return f"{row.get('who') or row.get('node') or ''}: {row['doing']}".removeprefix(": ")
    if row.get("flow"):
        return f"flow {row['flow']}"
    counts: dict[str, Any] = row.get("counts") or {}
    tallies = [words.counted(counts[name], name) for name in words.COUNTED if counts.get(name)]
    return "  ".join(part for part in (str(row.get("who") or row.get("node") or ""), ", ".join(tallies)) if part)


def _tries(row: Row) -> str:
    number, tries = row.get("try") or 0, row.get("tries") or 1
    if number <= 1:
        return ""
    return f"try {number} of {tries}" if row.get("status") == "running" else f"try {number}"


def took_words(row: Row, times: words.Times) -> str:
    """How long a row worked; of what waits, how long it waits."""
    status, start, end = row.get("status"), row.get("started"), row.get("ended")
    if status == "waiting" and row.get("kind") == "step":
        return f"waits {times.age_of(row.get('since') or start)}" if start else ""
    if status == "delayed" and row.get("until"):
        return f"in {words.spell(max(0.0, row['until'] - times.now))}"
    if start is None or status in ("pending", "skipped"):
        return ""
    work_seconds, elapsed = row.get("worked"), (times.now if end is None else end) - start
    if end is None and status in ("done", "failed", "interrupted", "cancelled"):
        return "" if work_seconds is None or status in ("done", "failed") else words.spell(work_seconds)
    if work_seconds is None or end is None:
        return words.spell(elapsed)
    is_step = row.get("kind") == "step"  # steps of a phase may work together
    return words.spell(work_seconds if is_step else min(work_seconds, elapsed))


def cost_words(row: Row) -> str:
    if row.get("status") in ("pending", "skipped", "waiting") and not row.get("usage"):
        return ""
    return words.money(row.get("usage"))


IDLE = 30.0
"""In seconds: if nothing works or waits for longer, that time is cut out of the scale."""
MARKS = {"work": "█", "pause": "─", "delay": "▒", "asked": "┄", "away": " "}
STYLES = {"work": "run", "pause": "dim", "delay": "delay", "asked": "need", "away": ""}
ENDS = {"failed": ("x", "fail"), "interrupted": ("!", "need"), "cancelled": ("!", "need")}
"""How a bar that was not done ends. These marks are seen even if the next bar begins in the same column."""
LEGEND = ("█ work", "x failed", "! cancelled, interrupted", "─ pause", "▒ delayed", "┄ asked", "· skipped", "> goes on")


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

    def column(self, moment: float) -> int:
        seconds, cuts = 0.0, 0
        for number, (begin, end) in enumerate(self.spans):
            if moment < begin:
                break
            seconds += min(moment, end) - begin
            cuts = number
        return min(int(seconds / self.total * self.width), self.width - 1) + 5 * cuts

    def cuts(self) -> Iterator[tuple[int, str]]:
        """Where idle times are cut out, and how long they were."""
        for (_, end), (begin, _) in zip(self.spans, self.spans[1:], strict=False):
            yield self.column(end) + 1, f"⋯{words.age(begin - end)}⋯"[:5]


def timeline_lines(
    tree: FoldedTree, bars: Iterable[Row], folds: Folds, times: words.Times, width: int
) -> Iterator[words.TextLine]:
    """One line per visible row of the tree, with the bars of the step, or of all steps below a folded row."""
    timed_bars = [bar for bar in bars if isinstance(bar.get("from"), int | float)]
    names = max(20, min(34, width // 3))
    room = max(10, width - names - 2)
    if not timed_bars:
        yield words.line(None, words.Piece("  Nothing has run yet.", "dim"))
        return
    scale = Scale(timed_bars, times.now, room)
    by_node: dict[str, list[Row]] = {}
    for bar in sorted(timed_bars, key=lambda bar: (bar["from"], bar["id"])):
        by_node.setdefault(str(bar.get("node")), []).append(bar)
    yield words.line(None, words.Piece(words.cell("", names + 1) + _head(scale, times, room), "dim"))
    for branch in tree.visible_branches(folds):
        row_bars = by_node.get(str(branch.row["id"]), [])
        if branch.is_folded:
            row_bars = [*row_bars, *_bars_below(tree, str(branch.row["id"]), by_node)]
        pieces = _bar_pieces(branch.row, row_bars, scale, times, room)
        yield words.line(branch.row["id"], *_name(branch, names), *pieces)
    for part in words.in_lines(LEGEND, width - 1, "  "):
        yield words.line(None, words.Piece(f" {part}", "dim"))


def _bars_below(tree: FoldedTree, id_: str, by_node: dict[str, list[Row]]) -> Iterator[Row]:
    for row in tree.children_of(id_):
        yield from by_node.get(str(row["id"]), ())
        yield from _bars_below(tree, str(row["id"]), by_node)


def _name(branch: Branch, width: int) -> tuple[words.Piece, ...]:
    name = words.cell(str(branch.row.get("name") or branch.row["id"]), max(1, width - columns(branch.lead) - 2))
    return words.Piece(branch.lead), words.sign(str(branch.row.get("status"))), words.Piece(f" {name} ")


def _head(scale: Scale, times: words.Times, room: int) -> str:
    begin, end = scale.spans[0][0], scale.spans[-1][1]
    head = list(words.cell(times.time_of_day(begin), room))
    end_text = times.time_of_day(end)
    if room > 2 * len(end_text) + 2:
        head[room - len(end_text) :] = end_text
    for column, text in scale.cuts():
        if "".join(head[column : column + len(text)]).isspace():
            head[column : column + len(text)] = text
    return "".join(head)[:room]


def _bar_pieces(row: Row, bars: list[Row], scale: Scale, times: words.Times, room: int) -> Iterator[words.Piece]:
    """The bars of a row: pieces of equal style. The end of a try that failed is an `x`."""
    cells: list[tuple[str, str]] = [(" ", "")] * room
    if not bars and row.get("status") == "skipped":
        cells[0] = ("·", "dim")
    ends: dict[int, tuple[str, str]] = {}
    for bar in bars:
        kind = str(bar.get("kind"))
        end = times.now if bar.get("to") is None else bar["to"]
        first_column, last_column = scale.column(bar["from"]), min(scale.column(end), room - 1)
        for column in range(first_column, last_column + 1):
            if kind != "away":
                cells[column] = (MARKS.get(kind, "█"), STYLES.get(kind, ""))
        mark = (">", "run") if bar.get("to") is None else ENDS.get(str(bar.get("end")))
        if mark is not None:
            ends[last_column] = mark
    for column, mark in ends.items():
        cells[column] = mark
    begin = 0
    for column in range(1, room + 1):
        if column == room or cells[column][1] != cells[begin][1]:
            yield words.Piece("".join(char for char, _ in cells[begin:column]), cells[begin][1])
            begin = column
