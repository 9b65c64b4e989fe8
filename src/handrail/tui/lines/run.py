"""The views of a run as lines: its head, tail, summary, artifacts, checks, one step, the log. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from json import dumps
from typing import Any, NamedTuple

from handrail.extensions.contracts import EventRecord
from handrail.source.output_text import clean
from handrail.tui.lines.run_tree import FoldedTree, cost_words, took_words
from handrail.tui.lines.words import (
    COUNTED,
    STYLES,
    UNKNOWN,
    Piece,
    TextLine,
    Times,
    cell,
    counted,
    ending,
    line,
    money,
    path_words,
    rule,
    sign,
    spell,
    tokens,
    wrapped,
)
from handrail.view.rows.rows import Row
from handrail.view.text.columns import columns, sign_of, word_of
from handrail.view.text.log import Story, line_of

MOST_WHY = 3
ELSEWHERE = "What steps wrote in the project: `git status` shows it."
TAIL_WORDS = {"answered": "answer", "approved": "yes", "rejected": "no"}
"""Words of the tail that are too long for its column."""
PRINTED = ("out", "text")
"""The kinds of printed lines. A blank one stays blank; a line of another kind without a text names its step."""
TAIL_STYLES = {"denied": "fail", "retry": "need", "error": "fail", "text": "", "out": "dim", "tool": "run"}


def head_pieces(head: Row, id_: str, times: Times, width: int) -> tuple[Piece, ...]:
    """The first line of a run: name, about, id; status; figures."""
    is_wide = width >= 100
    parts = [id_, *([f"attempt {head.get('attempt') or 1}", str(head.get("scope") or "")] if is_wide else [])]
    about = str(head.get("about") or "")
    title = f"{head.get('name') or id_}  " + " · ".join(part for part in (about, *parts) if part)
    status = str(head.get("status") or "pending")
    middle = f"{sign_of(status)} {word_of(status)}"
    end = " · ".join(_figures(head, run_seconds(head, times.now)))
    room = max(10, width - columns(middle) - columns(end) - 6)
    gap = " " * max(1, width - room - columns(middle) - columns(end) - 3)
    return (
        Piece(cell(title, room), "bold"),
        Piece("  "),
        Piece(middle, STYLES.get(middle[0], "need")),
        Piece(gap + end),
    )


def run_seconds(head: Row, now: float) -> float | None:
    """How long Handrail drove a run, as home and `handrail runs` say it; None if that is not known."""
    since: float | None = head.get("since")
    return head.get("seconds") if since is None else max(0.0, now - since)


def took_text(row: Row, seconds: float | None) -> str:
    """A duration, with a sign if it is only the least: a process was killed, and its last moments are not known."""
    return f"{'≥ ' if row.get('atLeast') and seconds is not None else ''}{spell(seconds)}"


def _figures(head: Row, seconds: float | None) -> Iterator[str]:
    if head.get("total"):
        yield f"{head.get('done') or 0}/{head['total']}"
    if seconds is not None:
        yield took_text(head, seconds)
    limit = (head.get("limits") or {}).get("usd") if isinstance(head.get("limits"), dict) else None
    yield money(head.get("usage")) + (f" of ${limit:g}" if isinstance(limit, int | float) else "")


def reason_lines(head: Row, width: int, max_lines: int = MOST_WHY) -> Iterator[TextLine]:
    """Why a run failed or was stopped. What does not fit into so many lines is cut."""
    reason = head.get("why")
    if reason and reason.get("message"):
        place = path_words(reason.get("path"))
        text = f"{place}: {reason['message']}" if place else str(reason["message"])
        status = str(head.get("status"))
        code = f"  [{reason['code']}]" if reason.get("code") else ""
        room = max(4, width - 3)
        parts = wrapped(" ".join((text + code).split()), room)
        lines = [*parts[: max_lines - 1], " ".join(parts[max_lines - 1 :])] if len(parts) > max_lines else parts
        for number, part in enumerate(lines):
            mark = Piece(" ") if number else sign(status)
            yield line(None, " ", mark, Piece(" " + cell(part, room), "fail" if status == "failed" else ""))


def tail_lines(
    tail: Iterable[Row], times: Times, width: int, *, wraps: bool = False, lost_count: int = 0
) -> Iterator[TextLine]:
    """What agents and programs did and said, one line each; the newest is last.

    If the texts are of more than one step, each begins with the name of its step.
    """
    if lost_count:
        yield line(None, Piece(f" … {lost_count:,} lines", "dim"))
    rows = list(tail)
    names = _tail_names({str(row["node"]) for row in rows if row.get("node") and row.get("text")})
    for row in rows:
        kind = str(row.get("kind") or "")
        head = f" {times.time_of_day(row.get('t') or 0.0)} {cell(TAIL_WORDS.get(kind, kind), 7)} "
        room = max(8, width - columns(head))
        content = str(row.get("text") or ("" if kind in PRINTED else path_words(row.get("node"))))
        if row.get("text") and row.get("node") in names:
            content = f"{names[row['node']]}: {content}"
        texts = wrapped(content, room) if wraps else [content.replace("\n", " ")]
        for number, text in enumerate(texts):
            lead = Piece(head if not number else " " * columns(head), "dim")
            yield line(None, lead, Piece(cell(text, room), TAIL_STYLES.get(kind, "")))


def _tail_names(paths: set[str]) -> dict[str, str]:
    """A name for each of several steps: the last part of its path, or all of it if another step has that name."""
    last_names = {path: path.rpartition("/")[2] for path in paths} if len(paths) > 1 else {}
    counts = Counter(last_names.values())
    return {path: name if counts[name] == 1 else path_words(path) for path, name in last_names.items()}


def summary_lines(head: Row, width: int) -> Iterator[TextLine]:
    """What the run says about itself. It is the work of agents, so it is not checked."""
    text = head.get("summary")
    if not text:
        yield line(None, Piece("  No summary was made.", "dim"))
        return
    yield line(None, Piece(" said by the run, not checked by Handrail", "dim"))
    for one in wrapped(clean(str(text)), max(10, width - 2)):
        yield line(None, f" {one}")


def artifact_lines(artifacts: Iterable[Row], times: Times, width: int) -> Iterator[TextLine]:
    rows = sorted(artifacts, key=lambda row: (row.get("created") or 0.0, row["id"]))
    if not rows:
        for text in ("  No step names a file that it makes (`makes` in its flow).", f"  {ELSEWHERE}"):
            yield line(None, Piece(text, "dim"))
    for row in rows:
        size = row.get("size")
        size_words = f"{size:,} B" if isinstance(size, int) else UNKNOWN
        version = f"v{row['version']}" if row.get("version") else ""
        ends = f"{cell(version, 4)} {size_words:>12}  {times.date_words(row.get('created')):>9} "
        room = max(8, width - columns(ends) - 2)
        name = ending(str(row.get("path") or row.get("name") or row["id"]), room * 3 // 5)
        step = cell(f" {path_words(row.get('step'))}", room - room * 3 // 5)
        yield line(row["id"], " ", name, Piece(f"{step} ", "dim"), ends)


def check_lines(checks: Iterable[Row], times: Times, width: int) -> Iterator[TextLine]:
    """What Handrail itself checked. One that did not run is neither held nor failed."""
    rows = sorted(checks, key=lambda row: (row.get("at") or 0.0, row["id"]))
    if not rows:
        yield line(None, Piece("  Nothing was checked.", "dim"))
    names = max((columns(_check_name(row)) for row in rows), default=0)
    for row in rows:
        yield check_line(row, times, width, names)


def _check_name(row: Row) -> str:
    place = f"{path_words(row.get('node'))}: " if row.get("node") else ""
    return place + str(row.get("name") or row.get("kind") or row["id"])


def check_line(row: Row, times: Times, width: int, names: int = 0) -> TextLine:
    """One check. `names` is how wide the longest name is: it gets at most half of the line."""
    is_held = row.get("held")
    status = "done" if is_held is True else "failed" if is_held is False else "pending"
    words = [str(row.get("detail") or ("" if is_held is not None else "not run"))]
    if row.get("seconds") is not None:
        words.append(spell(row["seconds"]))
    if row.get("at") is not None:
        words.append(times.time_of_day(row["at"]))
    if row.get("stale"):
        words.append("stale: the tree changed since")
    room = max(14, width // 3, min(names, width // 2))
    text = cell(_check_name(row), room) + "  " + " · ".join(part for part in words if part)
    return line(row["id"], "  ", sign(status), Piece(f" {cell(text, max(4, width - 4))}"))


def step_lines(
    tree: FoldedTree, id_: str | None, parts: dict[str, list[Row]], times: Times, width: int
) -> Iterator[TextLine]:
    """One step: what it does now, its counts and usage, its checks and files. `parts` are the sections of the run."""
    row = tree.rows.get(id_ or "")
    if row is None:
        yield line(None, Piece("  Nothing is selected.", "dim"))
        return
    status = str(row.get("status"))
    yield line(None, Piece(f" {tree.place(str(row['id']))}", "bold"))
    words = [word_of(status), took_words(row, times), _try(row)]
    yield line(None, " ", sign(status), " " + " · ".join(part for part in words if part))
    facts: list[tuple[str, Any]] = [
        ("kind", f"flow {row['flow']}" if row.get("flow") else row.get("node") or row.get("kind")),
        ("who", row.get("who")),
        ("doing", row.get("doing")),
        ("why", (row.get("why") or {}).get("message")),
        ("note", row.get("note")),
        ("counts", _counts(row)),
        ("usage", f"{tokens(row.get('usage'))} · {money(row.get('usage'))}" if row.get("usage") else cost_words(row)),
    ]
    for name, value in facts:
        if value:
            for number, text in enumerate(wrapped(str(value), max(10, width - 10))):
                yield line(None, Piece(f" {name if not number else '':<8}", "dim"), text)
    for section, key, draw in (("checks", "node", check_lines), ("artifacts", "step", artifact_lines)):
        if own_rows := [one for one in parts.get(section, []) if one.get(key) == row["id"]]:
            yield rule(section, width)
            yield from (one._replace(id=None) for one in draw(own_rows, times, width))


def try_lines(try_: Row, times: Times, width: int) -> Iterator[TextLine]:
    """What the last try of a step was given, what it printed and what it returned."""
    for title in ("prompt", "params", "output"):
        if value := try_.get(title):
            yield rule(title, width)
            text = value if isinstance(value, str) else dumps(value, indent=2, ensure_ascii=False)
            yield from (line(None, f" {one}") for one in wrapped(text, max(10, width - 2)))
    if try_.get("lines"):
        yield rule("printed", width)
        yield from tail_lines(try_["lines"], times, width, wraps=True)


def _try(row: Row) -> str:
    return f"try {row['try']} of {row.get('tries') or 1}" if (row.get("try") or 0) > 0 else ""


def _counts(row: Row) -> str:
    counts = row.get("counts") or {}
    return " · ".join(counted(counts[name], name) for name in COUNTED if name in counts)


STEPS, AGENT, FACTS = "steps", "agent", "facts"


class LogEntry(NamedTuple):
    """A line of the log. `kind` is one of `LOG_KINDS`."""

    at: float
    kind: str
    path: str
    text: str


def log_entries(story: Story, records: Iterable[EventRecord]) -> Iterator[LogEntry]:
    """The lines for these events, which come after those that the story has told."""
    for record in records:
        kind, path, *_ = line_of(record[1])
        for at, text in story.lines([record]):
            yield LogEntry(at, kind, path, clean(text.partition("\n")[0].strip()))


def _without_place(text: str, path: str) -> str:
    """A text without the path or the name of its step at its begin: its place has a column of its own."""
    for name in filter(None, (path, path.rpartition("/")[2])):
        if text == name or text.startswith((f"{name} ", f"{name}:")):
            return text[len(name) :].lstrip(": ")
    return text


def log_lines(
    entries: Iterable[tuple[int, LogEntry]], times: Times, width: int, *, wraps: bool = False
) -> Iterator[TextLine]:
    """The lines of these entries, whose numbers are the ids, and how many there are."""
    count, place_width = 0, max(12, min(30, width // 4))
    for count, (number, entry) in enumerate(entries, 1):  # noqa: B007 - the last one is shown at the end
        sign = entry.text[:1] if entry.text[1:2] == " " and entry.text[:1] in (*STYLES, "!") else ""
        text = (entry.text[2:] if sign else entry.text).strip()
        text = _without_place(text, entry.path) if sign else text
        head = f" {times.time_of_day(entry.at)}  "
        place = cell(path_words(entry.path), place_width)
        lead = columns(head) + 2 + place_width + 1
        room = max(8, width - lead)
        first_line, *other_lines = wrapped(text, room) if wraps else [cell(text, room)]
        mark = Piece(f"{sign or ' '} ", STYLES.get(sign, "need"))
        yield line(str(number), Piece(head, "dim"), mark, Piece(f"{place} ", "dim"), first_line)
        yield from (line(None, " " * lead, part) for part in other_lines)
    yield line(None, Piece(f" ── end · {count:,} {'line' if count == 1 else 'lines'}", "dim"))
