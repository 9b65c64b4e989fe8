"""A dry run in lines for people, and as JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from handrail.expressions.tree import Const
from handrail.expressions.words import in_words
from handrail.flows.preview import PreviewRow
from handrail.source.plain import plain, plain_lines

SIGNS = {"runs": "●", "skipped": "·", "depends": "?", "fails": "✗"}
_MOST = 200
_MOST_LINES = 40
_COMMON = ("kind", "path", "depth", "id", "verdict", "why", "on", "timeout")
_OF_KIND = {
    "phase": ("rounds", "lane", "parallel"),
    "step": ("node", "attempts", "flow", "params", "unknown", "prompt", "expect", "makes", "stops"),
}


def rows_to_json(rows: Iterable[PreviewRow]) -> list[dict[str, Any]]:
    """The rows as JSON. Phases and steps have different keys."""
    return [_data(row) for row in rows]


def _data(row: PreviewRow) -> dict[str, Any]:
    values = vars(row)
    named = {name: values[name] for name in (*_COMMON, *_OF_KIND.get(row.kind, ()))}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in named.items()}


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
    line = plain(line)
    return line if len(line) <= _MOST else line[: _MOST - 1] + "…"


def _head(row: PreviewRow) -> str:
    if row.kind == "step":
        return f"{row.id}: {row.node}"
    about = [f"{name} = {in_words(Const(value))}" for name, value in row.rounds.items()]
    if row.lane is not None:
        about.append(f"lane {row.lane}")
    if row.parallel is not None:
        about.append(f"steps in parallel, up to {row.parallel}")
    return row.id + (f" ({', '.join(about)})" if about else "")


def _verdict(row: PreviewRow) -> str:
    match row.verdict:
        case "skipped":
            return f": skipped, {row.why}"
        case "fails":
            return f": fails, {row.why}"
        case "depends" if row.on:
            return f": depends on {', '.join(f'`{name}`' for name in row.on)}: {row.why}"
        case "depends":
            return row.why
    return ""


def _details(row: PreviewRow) -> Iterator[str]:
    if row.flow is not None:
        yield f"runs {row.flow}"
    for name, value in row.params.items():
        if row.flow is None or name != row.nested:
            yield f"{name}: {in_words(Const(value))}"
    if row.attempts > 1:
        yield f"tried up to {row.attempts} times"
    if row.timeout is not None:
        yield f"time limit: {row.timeout:g} s"
    yield from (f"expects {text}" for text in row.expect)
    yield from (f"makes {text}" for text in row.makes)
    if row.stops is not None:
        yield f"stops the flow if: {row.stops}"
