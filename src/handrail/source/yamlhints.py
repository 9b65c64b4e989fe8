"""Finds what a person probably did wrong where the YAML parser stops: often the mistake is earlier. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import yaml

_KEY_WITH_VALUE = re.compile(r"\s*(?:- )?[^\s#\"'\[{-][^#]*?:\s+[^\s|>#]")
_ITEM = re.compile(r"\s*- ")
_SHORT_CODE = re.compile(r"(\s*(?:- )?(?P<key>[\w-]+):\s+)(?P<name>:[\w+-]+:)\s*(?:#.*)?\Z")


class Likely(NamedTuple):
    """The place of the mistake (line and column count from 0), and what to say about it."""

    line: int
    column: int
    message: str
    hint: str


class Stop(NamedTuple):
    """Where the parser stopped, and its own message. `events` reads the text again, up to this place."""

    problem: str
    line: int
    column: int
    first_line: int
    events: Callable[[], Iterator[Any]]


def likely(lines: list[str], stop: Stop) -> Likely | None:
    """The probable mistake; None if the parser's own place and message are best."""
    if "<document start>" in stop.problem:
        return _indented_start(lines, stop)
    if "',' or '" in stop.problem:
        return _bare_reference(lines, stop)
    if "did not find expected key" in stop.problem:
        return _late_quote(stop) or _list_after_value(lines, stop)
    if "mapping values are not allowed" in stop.problem:
        return _short_code(lines, stop) or _list_after_value(lines, stop)
    return None


def _indented_start(lines: list[str], stop: Stop) -> Likely | None:
    """The first line is indented, and a later one is not."""
    for number, line in enumerate(lines[: stop.line]):
        text = line.lstrip(" ")
        if text and not text.startswith("#"):
            hint = "keys of one mapping begin in the same column; remove the spaces before this line"
            message = f"this line is indented, but line {stop.line + stop.first_line} is not"
            return Likely(number, len(line) - len(text), message, hint) if line != text else None
    return None


def _bare_reference(lines: list[str], stop: Stop) -> Likely | None:
    """`${...}` without quotes inside of braces or brackets."""
    line = lines[stop.line]
    begin = stop.column - 1
    if begin < 0 or line[begin : begin + 2] != "${":
        return None
    end = line.find("}", begin)
    reference = line[begin : end + 1] if end > 0 else "${...}"
    hint = f"put it in quotes: `'{reference}'`"
    return Likely(stop.line, begin, "`${` needs quotes inside of braces and brackets", hint)


def _short_code(lines: list[str], stop: Stop) -> Likely | None:
    """`:wrench:` as a value."""
    found = _SHORT_CODE.match(lines[stop.line])
    if found is None:
        return None
    hint = f'write the emoji itself, in quotes: `{found["key"]}: "🔧"`'
    return Likely(stop.line, found.end(1), f"`{found['name']}` is the name of an emoji, not the emoji", hint)


def _late_quote(stop: Stop) -> Likely | None:
    """The parser stops after a text in quotes that began on an earlier line: its closing quote is probably missing."""
    last: Any = None
    for event in stop.events():
        last = event
    if not isinstance(last, yaml.ScalarEvent) or last.style not in ("'", '"'):
        return None
    start, end = last.start_mark, last.end_mark
    if start is None or end is None or start.line == end.line:
        return None
    message = f"this quote is closed only on line {end.line + stop.first_line}"
    return Likely(start.line, start.column, message, "add the closing quote at the end of this text")


def _list_after_value(lines: list[str], stop: Stop) -> Likely | None:
    """A list item below a key that has a value: the key of the list is probably missing."""
    line = lines[stop.line]
    above = next((text for text in reversed(lines[: stop.line]) if text.strip()), "")
    if not _ITEM.match(line) or not _KEY_WITH_VALUE.match(above):
        return None
    message = "a list cannot begin here: the key above it has a value already"
    hint = "write the key of the list on a line before it, such as `steps:`"
    return Likely(stop.line, len(line) - len(line.lstrip()), message, hint)
