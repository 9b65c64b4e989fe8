"""A guided session as lines: its phases with gate and exit checks, its moves, the calls that were denied. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from handrail.tui.lines.run import check_line
from handrail.tui.lines.run_tree import Folds
from handrail.tui.lines.words import STYLES, Piece, TextLine, Times, cell, line, sign, spell
from handrail.view.rows.home import OPEN
from handrail.view.rows.rows import Row
from handrail.view.text.columns import columns, sign_of, word_of

_ORDINALS = {2: "2nd visit", 3: "3rd visit"}
NEXT = "`handrail next --summary 'what you did'`"
"""How a person leaves a phase of a session without an agent."""
TURNS = {"agent": "agent's turn", "person": "your turn"}


def session_head(head: Row, times: Times, width: int) -> tuple[Piece, ...]:
    """`Ship  “login page” · AGENT 51c0     ● active · step 6 · 14m · agent's turn`."""
    conversation = str(head.get("conversation") or "")
    agent = " ".join(part for part in (str(head.get("agent") or ""), conversation[:4]) if part)
    task = f"“{head['task']}”" if head.get("task") else ""
    title = f"{head.get('name') or head.get('workflow') or 'session'}  " + " · ".join(p for p in (task, agent) if p)
    status = str(head.get("status") or "none")
    char = sign_of(status)
    start, end_ = head.get("started"), head.get("ended")
    words = [f"{char} {word_of(status)}", *([f"step {head['steps']}"] if head.get("steps") else [])]
    if start is not None:
        words.append(spell((times.now if end_ is None else end_) - start))
    if head.get("turn") in TURNS and status in OPEN:
        words.append(TURNS[str(head["turn"])])
    end = " · ".join(words)
    room = max(10, width - columns(end) - 2)
    return Piece(cell(title, room), "bold"), Piece("  "), Piece(end, STYLES.get(char, "need"))


def phase_lines(
    stops: Iterable[Row], checks: Iterable[Row], folds: Folds, head: Row, times: Times, width: int
) -> Iterator[TextLine]:
    """The phases in their order. The current one is unfolded: its gate, and what is checked before it is left."""
    checks_by_stop: dict[int, list[Row]] = {}
    for check in checks:
        checks_by_stop.setdefault(int(check.get("stop") or 0), []).append(check)
    old_levels: list[str] = []
    for stop in sorted(stops, key=lambda row: row.get("order", 0)):
        levels = [str(level[0]) for level in (stop.get("levels") or [])[1:]]
        for depth, name in enumerate(levels):
            if old_levels[: depth + 1] != levels[: depth + 1]:
                loop = "  ↻ may start over" if stop.get("loopable") else ""
                yield line(None, Piece(f" {'  ' * depth}▾   {name}{loop}", "bold"))
        old_levels = levels
        indent, is_here = "  " * len(levels), stop.get("state") == "current" and head.get("status") in OPEN
        is_folded = folds.get(str(stop["id"]), not is_here)
        yield _phase_line(stop, f" {indent}{'▸' if is_folded else '▾'} ", head, times, width)
        if not is_folded:
            yield from _gate(stop, checks_by_stop.get(int(stop.get("order") or 0), []), times, width, indent)
        if is_here and not head.get("agent"):
            yield line(None, Piece(f"{indent}       {cell('next', 8)}", "dim"), cell(NEXT, max(4, width - 18)))


def _phase_line(stop: Row, lead: str, head: Row, times: Times, width: int) -> TextLine:
    state = str(stop.get("state") or "ahead")
    is_here = state == "current" and head.get("status") in OPEN
    status = {"ahead": "pending", "current": "active" if is_here else "stopped"}.get(state, state)
    name = f"{stop.get('emoji') or ''} {stop.get('name') or ''}".strip() + ("  here" if is_here else "")
    start, end = stop.get("entered"), stop.get("left")
    took = "" if start is None else spell((times.now if end is None else end) - start)
    notes = "   ".join(filter(None, [took, *_notes(stop, head, is_here=is_here)]))
    dim = "dim" if state == "ahead" else ""
    title = Piece(f" {cell(name, 20)} ", "bold" if is_here else dim)
    return line(str(stop["id"]), lead, sign(status), title, Piece(cell(notes, max(4, width - columns(lead) - 24)), dim))


def _notes(stop: Row, head: Row, *, is_here: bool) -> Iterator[str]:
    visits = int(stop.get("visits") or 0)
    if visits > 1:
        yield _ORDINALS.get(visits, f"{visits}th visit")
    if is_here and head.get("sentOn"):
        yield f"sent on {head['sentOn']}"
    if stop.get("summary"):
        yield str(stop["summary"]).replace("\n", " ")


def _gate(stop: Row, checks: list[Row], times: Times, width: int, indent: str) -> Iterator[TextLine]:
    gate: dict[str, Any] = stop.get("gate") or {}
    for name, text in (("gate", gate_words(gate)), ("writes", ", ".join(map(str, gate.get("writes") or [])))):
        if text:
            yield line(None, Piece(f"{indent}       {cell(name, 8)}", "dim"), cell(text, max(4, width - 18)))
    for check in checks:
        check_text = check_line({**check, "node": None}, times, width - len(indent) - 3)
        yield line(None, f"{indent}   ", *check_text.pieces)
    for claim in [] if checks else stop.get("exit") or []:
        text = f" {cell(str(claim), max(4, width - 22))} never run"
        yield line(None, f"{indent}     ", sign("pending"), Piece(text, "dim"))


def gate_words(gate: dict[str, Any]) -> str:
    """What a phase allows: `all but web, edit`, `only read, search`, or `all`."""
    allow, deny = gate.get("allow"), gate.get("deny")
    if allow is not None:
        return f"only {', '.join(map(str, allow))}" if allow else "no tools"
    return f"all but {', '.join(map(str, deny))}" if deny else "all tools"


def move_lines(moves: Iterable[Row], stops: Iterable[Row], times: Times, width: int) -> Iterator[TextLine]:
    names = {row.get("order"): str(row.get("name")) for row in stops}
    rows = sorted(moves, key=lambda row: (row.get("at") or 0.0, int(row["id"]) if str(row["id"]).isdigit() else 0))
    if not rows:
        yield line(None, Piece("  It has not moved yet.", "dim"))
    for row in rows:
        origin, target = names.get(row.get("from"), ""), names.get(row.get("to"), "")
        cause = str(row.get("how") or "")
        text = f"{times.time_of_day(row.get('at') or 0.0)}  {cell(cause, 7)} " + f"{origin} → {target}".strip()
        by = f"by {row['by']}" if cause != "next" and row.get("by") else ""
        summary = "  ".join(filter(None, [by, str(row.get("summary") or "").replace("\n", " ")]))
        yield line(str(row["id"]), f" {cell(text, min(46, width))} ", Piece(cell(summary, max(0, width - 48)), "dim"))


def denial_lines(denials: Iterable[Row], times: Times, width: int) -> Iterator[TextLine]:
    """The calls that the gate denied, equal ones counted."""
    rows = sorted(denials, key=lambda row: (row.get("last") or 0.0, row["id"]))
    if not rows:
        yield line(None, Piece("  No call was denied.", "dim"))
    for row in rows:
        tool = cell(str(row.get("tool") or ""), 10)
        head = f" {times.time_of_day(row.get('last') or 0.0)}  {tool} ×{row.get('count') or 1:<3} "
        reason = " · ".join(str(row[name]) for name in ("rule", "reason", "excerpt") if row.get(name))
        yield line(str(row["id"]), Piece(head), Piece(cell(reason.replace("\n", " "), max(4, width - columns(head)))))


def last_words(head: Row, denials: Iterable[Row], moves: Iterable[Row], times: Times) -> str:
    """The newest thing that happened, for the line above the keys."""
    events: list[tuple[float, str]] = [
        (float(row.get("last") or 0.0), f"denied {row.get('tool')}: {row.get('reason') or row.get('rule') or ''}")
        for row in denials
    ]
    events += [(float(row.get("at") or 0.0), f"{row.get('how')}") for row in moves]
    if head.get("question"):
        return f"? {head.get('reason') or ''} {head['question']} (a answers)"
    if head.get("refused"):
        return f"! an agent tried `{head['refused'][-1]}`; only a person may run it"
    if not events:
        return ""
    at, text = max(events)
    return f"last: {times.time_of_day(at)} {text}"
