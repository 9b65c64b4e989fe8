"""The catalog as lines: definitions by source and kind, and what is wrong with the selected one. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from handrail.source.output_text import clean
from handrail.source.plain_text import counted
from handrail.tui.lines.words import STYLES, Piece, TextLine, cell, line, rule, wrapped
from handrail.view.rows.rows import Row
from handrail.view.text.columns import FAILED, NOTICE, Sign, clipped, columns

PLUGIN = "plugin"
KINDS = {"flow": "flows", "workflow": "workflows"}
BROKEN = ("broken", "needs-broken")
SIGNS: dict[str, Sign] = {"broken": FAILED, "needs-broken": FAILED, "warned": NOTICE, "untrusted": NOTICE}
_FIRST, _LAST = ("project",), ("user", "builtin")
_NAMES = {"builtin": "built-in"}
_NAME = 14


def source_name(source: str) -> str:
    return _NAMES.get(source, source.replace(":", " "))


def listed_rows(rows: Sequence[Row], *, only_problems: bool) -> list[Row]:
    """The rows that are shown. Parts of what comes with Handrail are left out: nobody launches them."""
    rows_shown = [row for row in rows if not (row.get("source") == "builtin" and not row.get("visible"))]
    return [row for row in rows_shown if row.get("state") != "ok"] if only_problems else rows_shown


def sources(rows: Sequence[Row]) -> list[str]:
    """The sources with definitions: the project, then others, the user's and ours."""
    names = dict.fromkeys(str(row.get("source")) for row in rows if row.get("kind") != PLUGIN)
    middle = [name for name in names if name not in (*_FIRST, *_LAST)]
    return [name for name in (*_FIRST, *middle, *_LAST) if name in names]


def group_id(source: str, kind: str = "") -> str:
    return f"~{source}/{kind}" if kind else f"~{source}"


def catalog_lines(rows: Sequence[Row], is_folded: Callable[[str], bool], width: int) -> Iterator[TextLine]:
    """The tree: sources, kinds, definitions; then plugins."""
    by_id = {str(row["id"]): row for row in rows}
    for source in sources(rows):
        source_rows = [row for row in rows if row.get("source") == source and row.get("kind") != PLUGIN]
        id_, name = group_id(source), cell(source_name(source), 9)
        if is_folded(id_):
            count = sum(row.get("state") in BROKEN for row in source_rows)
            error_words = f"   {FAILED.char} {count} with errors" if count else ""
            yield line(id_, f" ▸ {name} {len(source_rows)}", Piece(error_words, "fail"))
            continue
        folder = _folder(source_rows) if source == "project" else ""
        yield line(id_, Piece(f" ▾ {name}", "bold"), Piece(f" {folder}", "dim"))
        for kind, title in KINDS.items():
            if kind_rows := [row for row in source_rows if row.get("kind") == kind]:
                id_ = group_id(source, kind)
                is_shut = is_folded(id_)
                yield line(id_, f"   ▸ {title}  {len(kind_rows)}" if is_shut else f"   ▾ {title}")
                for row in kind_rows if not is_shut else ():
                    yield _entry(row, "     ", str(row.get("name")), by_id, width)
    for row in (row for row in rows if row.get("kind") == PLUGIN):
        yield _entry(row, " ", f"plugin {row.get('name')}", by_id, width)


def _entry(row: Row, indent: str, name: str, rows: dict[str, Row], width: int) -> TextLine:
    state = str(row.get("state"))
    sign = SIGNS.get(state)
    mark = Piece(sign.char, STYLES.get(sign.char, "need")) if sign is not None else Piece(" ")
    count = row.get("phases")
    end = counted(count, "phase") if isinstance(count, int) and state not in BROKEN else ""
    name = clean(name)
    head = f" {cell(name, min(24, max(_NAME, columns(name) + 2)))}"
    room = max(0, width - columns(indent) - 1 - columns(head) - columns(end) - 2)
    text = clean(" ".join(about(row, rows).split()))
    style = "fail" if state in BROKEN else "dim"
    return line(str(row["id"]), indent, mark, head, Piece(cell(text, room), style), f" {end} " if end else "")


def about(row: Row, rows: dict[str, Row]) -> str:
    """What a line says about a definition: what is wrong, else what hides or is hidden, else what it is for."""
    state = row.get("state")
    if state == "broken":
        return _count(row)
    if state == "needs-broken":
        return f"needs {_broken_use(row, rows)}, which has errors"
    parts = [f"/workflow {row['command']}"] if row.get("kind") == "workflow" and row.get("command") else []
    parts += [f"hides {_place(rows[id_])}" for id_ in row.get("shadows") or () if id_ in rows]
    if row.get("shadowedBy") in rows:
        parts.append(f"hidden by {_place(rows[str(row['shadowedBy'])])}")
    parts += [_count(row)] if state == "warned" else []
    parts += [str(row["description"])] if row.get("description") else []
    return " · ".join(parts)


def _place(row: Row) -> str:
    return f"{source_name(str(row.get('source')))}'s {row.get('key') or row.get('name')}"


def _broken_use(row: Row, rows: dict[str, Row]) -> str:
    """The first definition with errors that this one uses."""
    keys = [str(name) for name in row.get("uses") or ()]
    bad = [str(one.get("name")) for one in rows.values() if one.get("state") in BROKEN and one.get("key") in keys]
    names = {str(one.get("file")): str(one.get("name")) for one in rows.values()}
    causes = [str(one["cause"]) for one in row.get("problems") or () if one.get("cause")]
    causes = [names.get(cause, cause) for cause in causes]
    return (bad or causes or keys or ["another definition"])[0]


def _count(row: Row) -> str:
    kinds = Counter(str(problem.get("severity")) for problem in row.get("problems") or ())
    return ", ".join(counted(kinds[kind], kind) for kind in ("error", "warning") if kinds[kind])


def _folder(rows: Sequence[Row]) -> str:
    file = str(rows[0].get("file") or "") if rows else ""
    return file.partition("/")[0] if file.startswith(".") else ""


def head_words(rows: Sequence[Row]) -> str:
    """`31 definitions · 2 with problems`."""
    definitions = [row for row in rows if row.get("kind") != PLUGIN]
    problem_count = sum(row.get("state") in (*BROKEN, "warned") for row in definitions)
    untrusted_count = sum(row.get("state") == "untrusted" for row in rows)
    parts = [counted(len(definitions), "definition"), *([f"{problem_count} with problems"] if problem_count else [])]
    return " · ".join([*parts, *([f"{untrusted_count} not trusted"] if untrusted_count else [])])


def is_launchable(row: Row) -> bool:
    return row.get("kind") in KINDS and row.get("state") in ("ok", "warned") and not row.get("shadowedBy")


def detail_lines(row: Row, width: int) -> Iterator[TextLine]:
    """The selected definition: its file, each problem with its place and a caret, and what can be done."""
    yield rule(clean(f"{row.get('name')} · {row.get('file') or 'comes with Handrail'}"), width)
    problems = row.get("problems") or ()
    for problem in problems:
        yield from problem_lines(problem, width, str(row.get("file")))
    if not problems and row.get("description"):
        yield from (line(None, f" {one}") for one in wrapped(clean(str(row["description"])), max(20, width - 2)))
    yield from (line(None, f" {one}") for one in wrapped(_verdict(row), max(20, width - 2)))


def _verdict(row: Row) -> str:
    if row.get("kind") == PLUGIN:
        return "Nobody has trusted its code yet." if row.get("state") == "untrusted" else "A plugin."
    if row.get("state") in BROKEN:
        return "It cannot be launched. Current runs keep the text they started with."
    if row.get("shadowedBy"):
        return "Another one with the same name is used instead."
    if row.get("kind") == "workflow" and row.get("command"):
        name = clean(str(row["command"]))
        return (
            f"↵ runs an agent through it. `/workflow {name} TASK` starts it inside an agent's session, "
            f"`handrail start {name} TASK` without one."
        )
    return "↵ launches it."


def problem_lines(problem: Row, width: int, file: str) -> Iterator[TextLine]:
    """A problem as the command line shows it: its place, the line of the file, a caret and a hint."""
    style = "fail" if problem.get("severity") == "error" else "need"
    place = f"{problem.get('line')}:{problem.get('column')}"
    full_place = place if problem.get("file") in (None, file) else f"{problem['file']}:{place}"
    mark = f" {problem.get('severity')}[{problem.get('code')}]"
    text = clean(f"{full_place}: {problem.get('message')}")
    first_line, *other_lines = wrapped(text, max(20, width - columns(mark) - 2))
    yield line(None, Piece(mark, style), f" {first_line}")
    yield from (line(None, f"   {one}") for one in other_lines)
    hint = f"hint: {clean(str(problem['hint']))}" if problem.get("hint") else ""
    if problem.get("excerpt") is None:
        yield from (line(None, f"   {one}") for one in (wrapped(hint, max(20, width - 4)) if hint else ()))
        return
    yield from _caret_lines(problem, hint, width)


def _caret_lines(problem: Row, hint: str, width: int) -> Iterator[TextLine]:
    number, text = str(problem.get("line")), clean(str(problem["excerpt"])).split("\n")[0]
    room = max(10, width - len(number) - 7)
    column = max(1, int(problem.get("column") or 1))
    start = max(0, column - room // 2) if column > room - 8 else 0
    excerpt = clipped(text[start:], room)
    indent = columns(text[start : column - 1])
    caret = "^" * max(1, min(int(problem.get("width") or 1), room - indent))
    yield line(None, f"   {number} | {excerpt}")
    is_beside = bool(hint) and indent + len(caret) + 3 + columns(hint) <= room
    tail = f"   {hint}" if is_beside else ""
    yield line(None, f"   {' ' * len(number)} | {' ' * indent}", Piece(caret, "fail"), tail)
    if hint and not is_beside:
        yield from (line(None, f"   {one}") for one in wrapped(hint, max(20, width - 4)))


def text_lines(text: str, problems: Sequence[Row], file: str, width: int) -> Iterator[TextLine]:
    """A file with the numbers of its lines, and each problem below its line."""
    by_line: dict[int, list[Row]] = {}
    for problem in problems:
        if problem.get("file") == file:
            by_line.setdefault(int(problem.get("line") or 1), []).append(problem)
    for number, text_line in enumerate(clean(text).split("\n"), 1):
        line_problems = by_line.get(number, ())
        mark = Piece(FAILED.char if line_problems else " ", "fail")
        yield line(None, " ", mark, f" {number:>4}  {clipped(text_line, max(10, width - 9))}")
        for problem in line_problems:
            message = f"{problem.get('severity')}[{problem.get('code')}] {problem.get('message')}"
            hint = f"; {problem['hint']}" if problem.get("hint") else ""
            indent = columns(text_line[: max(0, int(problem.get("column") or 1) - 1)])
            caret = f"{' ' * (9 + indent)}{'^' * max(1, int(problem.get('width') or 1))}"
            words = clean(message + hint)
            if columns(caret) + 1 + columns(words) < width:
                yield line(None, Piece(f"{caret} ", "fail"), words)
                continue
            yield line(None, Piece(clipped(caret, max(10, width - 1)), "fail"))
            yield from (line(None, f"{' ' * 9}{one}") for one in wrapped(words, max(20, width - 11)))
