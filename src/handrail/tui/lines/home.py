"""The home screen as lines: four groups, what needs a person first, and the selected entry in short. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from handrail.tui.lines.run import artifact_lines, reason_lines, run_seconds, tail_lines, took_text
from handrail.tui.lines.run_tree import FoldedTree, tree_lines
from handrail.tui.lines.session import phase_lines
from handrail.tui.lines.words import (
    QUIET,
    UNKNOWN,
    Piece,
    TextLine,
    Times,
    cell,
    line,
    money,
    path_words,
    right,
    rule,
    sign,
    wrapped,
)
from handrail.view.rows.rows import Row
from handrail.view.text.columns import columns, duration, word_of

GROUPS = {"needs": "NEEDS YOU", "running": "RUNNING", "delayed": "DELAYED", "recent": "RECENT"}
EMPTY = (
    "No runs yet. i creates a small example in .handrail/, n launches one of the flows that come with Handrail, "
    "? shows help."
)
OLDER = "older"
"""The id of the line that shows more of what ended."""


class HomeColumns(NamedTuple):
    """How wide each column is; 0 if it is left out. The order of leaving out: cost, about, n/m."""

    name: int
    about: int
    place: int
    counts: int
    time: int
    cost: int


def columns_of(width: int) -> HomeColumns:
    """The columns in this width. Sign, name and place are always there."""
    name = 14 if width >= 76 else 12
    about = (14 if width >= 76 else 11) if width >= 62 else 0
    cost = 7 if width >= 66 else 0
    counts = 6 if width >= 50 else 0
    time = 9 if width >= 66 else 8
    other_width = 3 + name + 1 + (about + 1 if about else 0) + counts + time + cost + 1
    return HomeColumns(name, about, max(6, width - other_width), counts, time, cost)


def rows_by_group(entries: Iterable[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {group: [] for group in GROUPS}
    for row in sorted(entries, key=lambda row: (row.get("order", 0), row["id"])):
        groups.setdefault(str(row.get("group")), []).append(row)
    return groups


def home_lines(entries: list[Row], times: Times, width: int, older: int = 0) -> Iterator[TextLine]:
    """All lines of the list. `older` is how many ended runs are not listed."""
    if not entries:
        yield rule(GROUPS["needs"], width)
        yield line(None, Piece("   nothing", "dim"))
        yield line(None, "")
        yield from (line(None, f"   {text}") for text in wrapped(EMPTY, max(10, width - 4)))
        return
    groups = rows_by_group(entries)
    shape = columns_of(width)
    for group, title in GROUPS.items():
        rows = groups[group]
        if not rows and group != "needs":
            continue
        yield rule(title, width)
        if not rows:
            yield line(None, Piece("   nothing", "dim"))
        for row in rows:
            yield home_line(row, times, shape)
    if older:
        yield line(OLDER, Piece(f"   {older:,} older: o", "dim"))


def home_line(row: Row, times: Times, shape: HomeColumns) -> TextLine:
    is_need = row.get("group") == "needs"
    name = Piece(cell(str(row.get("name") or ""), shape.name), "bold" * is_need)
    pieces = [Piece(" "), sign(_status(row)), Piece(" "), name]
    if shape.about:
        pieces.append(Piece(" " + cell(str(row.get("about") or ""), shape.about), "dim"))
    counts, time, cost = _figures(row, times)
    end = "  ".join(part for part in ("" if is_need or not shape.counts else counts, time) if part)
    room = shape.place + shape.counts + shape.time + (shape.cost if is_need else 0)
    place = cell(_place(row, times), max(4, room - columns(end) - 1))
    pieces.append(Piece(f" {place} {end}"))
    if shape.cost and not is_need:
        pieces.append(Piece(right(cost, shape.cost), "dim" if cost == UNKNOWN else ""))
    return line(row["id"], *pieces)


def _near(path: object) -> str:
    """The end of the way to a step: of a nested one only its name, so that the reason can be read."""
    parts = str(path or "").split("/")
    return " › ".join(parts if len(parts) <= 2 else parts[-1:])


def _status(row: Row) -> str:
    if row.get("group") == "needs" and row.get("need"):
        return "waiting"
    return str(row.get("status"))


def _place(row: Row, times: Times) -> str:
    """Where it stands: the question, the reason, the place and what is done there, or how it ended."""
    need, why, delay = row.get("need"), row.get("why"), row.get("delay")
    status_line = str(row.get("statusLine") or "").removeprefix(f"{row.get('name')} > ")  # the name is shown already
    place = path_words(status_line or row.get("place"))
    if need:
        kind = str(need.get("kind") or "form")
        count_words = f" (+{need['count'] - 1})" if (need.get("count") or 1) > 1 else ""
        title = str(need.get("title") or "a question")
        if kind == "approval":
            return f"approve: {title}{count_words}"
        fields = need.get("fields") or 0
        parts = f", {fields} {'field' if fields == 1 else 'fields'}" if fields and kind == "form" else ""
        return f"{title}  {kind}{parts}{count_words}"
    if (status := row.get("status")) in ("interrupted", "answered") and row.get("kind") == "run":
        return f"{status} at {place}: no process" if place else f"{status}: no process"
    if row.get("group") == "delayed" and delay:
        end = delay.get("until")
        return f"{delay.get('reason') or 'waits'}" + (f" until {times.date_words(end)}" if end else "")
    if row.get("group") == "recent" and not why:
        took = row.get("seconds")
        if took is None and row.get("started") is not None and row.get("ended") is not None:
            took = row["ended"] - row["started"]
        return took_text(row, took) if took is not None else place
    if row.get("group") in ("recent", "needs") or (isinstance(why, dict) and why.get("message")):
        reason = str(why.get("message") or why.get("code")) if isinstance(why, dict) else str(why or "")
        step = _near(why.get("path")) if isinstance(why, dict) else place
        return f"{step} › {reason}" if step and reason else reason or place
    rounds = row.get("round")
    turn = f"↻{rounds[0]}/{rounds[1]} " if rounds else ""
    agent = row.get("who") if row.get("kind") == "session" else None
    text = " › ".join(part for part in (place, str(row.get("doing") or "")) if part)
    return turn + text + (f"  {agent}" if agent else "")


def _figures(row: Row, times: Times) -> tuple[str, str, str]:
    done_count, total = row.get("done"), row.get("total")
    counts = f"{done_count}/{total}" if total else ""
    cost = money(row.get("usage"))
    group, delay = row.get("group"), row.get("delay") or {}
    if group == "needs":
        need = row.get("need") or {}
        start = need.get("since") or row.get("ended") or row.get("started")
        return counts, times.age_of(start) + ("" if row.get("seen", True) else " · new"), cost
    if group == "delayed" and delay.get("until"):
        return counts, duration(max(0.0, delay["until"] - times.now)), cost
    if group == "recent":
        counts = "" if row.get("status") in ("completed", "done") else counts
        return counts, times.date_words(row.get("ended")), cost
    last_time = row.get("last")
    if isinstance(last_time, int | float) and times.now - last_time >= QUIET:
        return counts, f"quiet {times.age_of(last_time)}", cost
    return counts, times.age_of(row.get("started")), cost


def group_counts(entries: Iterable[Row]) -> str:
    """`4 need you · 3 running · 1 delayed`."""
    groups = rows_by_group(entries)
    needs = len(groups["needs"])
    parts = (
        (needs, "needs you" if needs == 1 else "need you"),
        (len(groups["running"]), "running"),
        (len(groups["delayed"]), "delayed"),
    )
    return " · ".join(f"{number} {words}" for number, words in parts if number) or "nothing runs"


Sections = Callable[[str], list[Row]]


def run_detail(head: Row, sections: Sections, tail: Iterable[Row], times: Times, width: int) -> Iterator[TextLine]:
    """Status, figures, the tree, the files, the last lines."""
    status = str(head.get("status") or "pending")
    tree = FoldedTree(sections("nodes"))
    first_step = tree.first_step()
    place = f" at {path_words(first_step)}" if first_step and status != "completed" else ""
    yield line(None, "   ", sign(status), f" {word_of(status)}{place}")
    took = took_text(head, run_seconds(head, times.now))
    yield line(None, f"   {head.get('done') or 0}/{head.get('total') or 0} steps · {took} · {money(head.get('usage'))}")
    yield from reason_lines(head, width)
    over = (id_ for id_, row in tree.rows.items() if row.get("status") in ("done", "skipped"))
    folds = {id_: True for id_ in over if tree.is_foldable(id_)}
    for one in tree_lines(tree, folds, times, width, question_by_path(sections("needs"))):
        yield one._replace(id=None)
    if artifacts := sections("artifacts"):
        yield rule("artifacts", width)
        yield from (one._replace(id=None) for one in artifact_lines(artifacts, times, width))
    if last_lines := list(tail)[-8:]:
        yield rule("tail", width)
        yield from tail_lines(last_lines, times, width)


def question_by_path(needs: Iterable[Row]) -> dict[str, str]:
    """The open question of each step, by its path."""
    return {str(row.get("path")): str(row.get("title") or "") for row in needs if not row.get("answered")}


def session_detail(head: Row, sections: Sections, times: Times, width: int) -> Iterator[TextLine]:
    status = str(head.get("status") or "none")
    yield line(None, "   ", sign(status), f" {word_of(status)}  {head.get('statusLine') or ''}")
    yield line(None, Piece(f"   step {head.get('steps') or 0} · sent on {head.get('sentOn') or 0}", "dim"))
    for one in phase_lines(sections("stops"), sections("checks"), {}, head, times, width):
        yield one._replace(id=None)
