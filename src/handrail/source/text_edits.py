"""Edits JSON and TOML texts in one place and keeps all other bytes unchanged. Pure.

Used for settings files of other programs; no file is serialized again. With `comments`, a JSON text may have comments
and commas after the last part, as the program itself allows; they are kept. The other program may edit its TOML too
and put its tables between ours, so ours have a note in the line of their header and are removed by it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from handrail.base.dataclasses import dataclass

KeyPath = tuple[str, ...]
_SPACE = " \t\r\n"
_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)


class NotJson(ValueError):
    """The text is not a JSON object, or a value in it has the wrong type."""


@dataclass(frozen=True)
class Span:
    """The position of a value. `parts` are the members of an object or the items of a list, in order."""

    start: int
    end: int
    kind: str
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Part:
    """A member of an object, or an item of a list (then `key` is None). It begins at `start`."""

    key: str | None
    start: int
    value: Span


def without_comments(text: str) -> str:
    """The text with spaces instead of comments and last commas: JSON of the same length, if it is JSON otherwise."""

    def blank(match: re.Match[str]) -> str:
        part = match[0]
        return part if part.startswith('"') else re.sub(r"[^\n]", " ", part)

    return _LAST_COMMA.sub(blank, _COMMENT.sub(blank, text))


def json_outline(text: str, *, comments: bool = False) -> Span:
    """The positions of all values in a text that holds one JSON object. Raises `NotJson` for another text."""
    text = without_comments(text) if comments else text
    try:
        json.loads(text)
    except ValueError as error:
        raise NotJson(str(error)) from error
    span = _value_span(text, _skip(text, 0))
    if span.kind != "object":
        raise NotJson("an object was expected")
    return span


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _value_span(text: str, at: int) -> Span:
    if text[at] not in "{[":
        return Span(at, json.JSONDecoder().raw_decode(text, at)[1], "scalar")
    start, is_object = at, text[at] == "{"
    parts: list[Part] = []
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        begin, key = at, None
        if is_object:
            key, at = json.JSONDecoder().raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        parts.append(Part(key, begin, _value_span(text, at)))
        at = _skip(text, parts[-1].value.end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return Span(start, at + 1, "object" if is_object else "list", tuple(parts))


def find_value(text: str, path: KeyPath, *, comments: bool = False) -> Span | None:
    """The position of the value at a path of keys, or None if there is no value."""
    span: Span | None = json_outline(text, comments=comments)
    for name in path:
        span = next((part.value for part in span.parts if part.key == name), None) if span else None
    return span


def add_member(text: str, path: KeyPath, key: str, value: Any, *, comments: bool = False) -> str:
    """The text with a new first member in the object at `path`. Missing objects on the path are created."""
    span = find_value(text, path, comments=comments)
    if span is None:
        return add_member(text, path[:-1], path[-1], {key: value}, comments=comments)
    if span.kind != "object":
        raise NotJson(f"`{'.'.join(path)}` is not an object")
    return _insert(text, span, f"{json.dumps(key)}: {_dump(value, len(path) + 1)}", len(path) + 1)


def add_item(text: str, path: KeyPath, value: Any, *, comments: bool = False) -> str:
    """The text with a new first item in the list at `path`. A missing list is created."""
    span = find_value(text, path, comments=comments)
    if span is None:
        return add_member(text, path[:-1], path[-1], [value], comments=comments)
    if span.kind != "list":
        raise NotJson(f"`{'.'.join(path)}` is not a list")
    return _insert(text, span, _dump(value, len(path) + 1), len(path) + 1)


def append_item(text: str, path: KeyPath, value: Any) -> str:
    """The text with a new last item in the list at `path`. A missing list is created."""
    span = find_value(text, path)
    if span is None or span.kind != "list" or not span.parts:
        return add_item(text, path, value)
    end = span.parts[-1].value.end
    return f"{text[:end]},\n{'  ' * (len(path) + 1)}{_dump(value, len(path) + 1)}{text[end:]}"


def _dump(value: Any, depth: int) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", "\n" + "  " * depth)


def _insert(text: str, span: Span, body: str, depth: int) -> str:
    head, rest = text[: span.start + 1], text[span.start + 1 :]
    if span.parts:
        return f"{head}\n{'  ' * depth}{body},{rest}"
    return f"{head}\n{'  ' * depth}{body}\n{'  ' * (depth - 1)}{rest.lstrip(_SPACE)}"


def replace_value(text: str, path: KeyPath, value: Any) -> str:
    """The text with another value at an existing path."""
    span = find_value(text, path)
    assert span is not None
    return text[: span.start] + _dump(value, len(path)) + text[span.end :]


def remove_member(text: str, path: KeyPath, *, comments: bool = False) -> str:
    """The text without the member at `path`. Objects that become empty are removed too."""
    owner = find_value(text, path[:-1], comments=comments)
    place = next((i for i, part in enumerate(owner.parts) if part.key == path[-1]), None) if owner else None
    return text if owner is None or place is None else _without_part(text, path[:-1], owner, place, comments)


def remove_items(text: str, path: KeyPath, ours: Callable[[Any], bool], *, comments: bool = False) -> str:
    """The text without the items for which `ours` returns True. A list that becomes empty is removed too."""
    while True:
        owner, body = find_value(text, path, comments=comments), without_comments(text) if comments else text
        parts = owner.parts if owner and owner.kind == "list" else ()
        values = [json.loads(body[part.value.start : part.value.end]) for part in parts]
        place = next((i for i, value in enumerate(values) if ours(value)), None)
        if owner is None or place is None:
            return text
        text = _without_part(text, path, owner, place, comments)


def _without_part(text: str, path: KeyPath, owner: Span, place: int, comments: bool) -> str:
    parts, body = owner.parts, without_comments(text) if comments else text
    start, end = parts[place].start, parts[place].value.end
    if len(parts) == 1:
        around = (slice(owner.start, start), slice(end, owner.end))
        if any(text[part] != body[part] for part in around):
            return text[:start] + text[end:].removeprefix(",")
        if not path:
            return text[: owner.start + 1] + text[owner.end - 1 :]
        return remove_member(text, path, comments=comments)
    if place + 1 < len(parts):
        begin = owner.start + 1 if place == 0 else body.rindex(",", 0, start) + 1
        return text[:begin] + text[body.index(",", end) + 1 :]
    return text[: body.rindex(",", 0, start)] + text[end:]


_BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


class NotToml(ValueError):
    """The text is not TOML, or our entries do not fit into it."""


def parse_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise NotToml(str(error)) from error


def add_tables(text: str, tables: Mapping[KeyPath, Mapping[str, Any]], note: str) -> str:
    """The text with new tables at its end. Each header ends with the note. Raises `NotToml` if one of them exists."""
    expected = parse_toml(text)
    lines = []
    for path, values in tables.items():
        _add_value(expected, path, dict(values))
        lines.append(f"[{toml_header(path)}]  # {note}\n")
        lines += [f"{toml_header((key,))} = {toml_value(value)}\n" for key, value in values.items()]
    return _require_values(_with_gap(text) + "".join(lines), expected)


def add_key(text: str, table: str, key: str, value: Any, note: str) -> str:
    """The text with a key in a table of the first level; unchanged if the key exists. The line ends with the note."""
    expected = parse_toml(text)
    existing = expected.get(table)
    if isinstance(existing, dict) and key in existing:
        return text
    line = f"{key} = {toml_value(value)}  # {note}\n"
    lines = text.splitlines(keepends=True)
    at = next((i for i, one in enumerate(lines) if _header_of(one) == (table,)), None)
    _add_value(expected, (table, key), value)
    if at is not None:
        lines[at] = lines[at] if lines[at].endswith("\n") else lines[at] + "\n"
        return _require_values("".join([*lines[: at + 1], line, *lines[at + 1 :]]), expected)
    if existing is not None:
        return _require_values(f"{table}.{line}{text}", expected)
    return _require_values(f"{_with_gap(text)}[{table}]  # for a key {note}\n{line}", expected)


def remove_noted(text: str, note: str) -> str:
    """The text without the tables and the keys with this note. Tables below a table of ours are removed, too."""
    parse_toml(text)
    lines = text.splitlines(keepends=True)
    table_paths = [path for line in lines if (path := _header_of(line)) and _has_note(line, note)]
    result: list[str] = []
    pending: list[str] = []
    is_inside = False
    for line in lines:
        path = _header_of(line)
        if path is not None:
            is_inside = any(path[: len(one)] == one for one in table_paths)
            result, pending = (_without_gap(result), pending) if is_inside else (result + pending, [])
        if not is_inside:
            result += [] if path is None and _has_note(line, note) else [line]
        elif not line.strip() or line.lstrip().startswith("#"):
            pending.append(line)  # it may belong to the table that follows
        else:
            pending = []
    return _require_values("".join(_without_empty([*result, *pending], note)), None)


def _with_gap(text: str) -> str:
    """The text with an empty line at its end."""
    return "" if not text else f"{text}\n" if text.endswith("\n") else f"{text}\n\n"


def _without_gap(lines: list[str]) -> list[str]:
    """The lines without the empty line that we put at their end."""
    return lines[:-1] if lines and not lines[-1].strip() else lines


def _has_note(line: str, note: str) -> bool:
    return line.rstrip().endswith(f"  # {note}")


def _without_empty(lines: list[str], note: str) -> list[str]:
    """The lines without a header that we added for a key, if no other key is in its table now."""
    result: list[str] = []
    for at, line in enumerate(lines):
        if not _has_note(line, f"for a key {note}"):
            result.append(line)
        elif _has_keys(lines[at + 1 :]):
            result.append(line.partition("  # for a key")[0] + "\n")
        else:
            result = _without_gap(result)
    return result


def _has_keys(lines: list[str]) -> bool:
    """True if the table whose header is before these lines has a key."""
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), None)
    return first is not None and _header_of(first) is None


def toml_header(path: KeyPath) -> str:
    return ".".join(part if part and _BARE.issuperset(part) else _quoted(part) for part in path)


def toml_value(value: Any) -> str:
    """A value in one line."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_header((key,))} = {toml_value(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return json.dumps(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _header_of(line: str) -> KeyPath | None:
    """The path of a table if this line is its header."""
    if not line.lstrip().startswith("["):
        return None
    try:
        value: Any = tomllib.loads(line)
    except ValueError:
        return None
    path: list[str] = []
    while isinstance(value, dict) and value:
        path.append(next(iter(value)))
        value = value[path[-1]]
    return tuple(path)


def _add_value(value: dict[str, Any], path: KeyPath, new: Any) -> None:
    for key in path[:-1]:
        value = value.setdefault(key, {})
        if not isinstance(value, dict):
            raise NotToml(f"`{toml_header(path)}` does not fit: `{key}` is not a table")
    if path[-1] in value:
        raise NotToml(f"it already has `{toml_header(path)}`, which does not belong to Handrail")
    value[path[-1]] = new


def _require_values(text: str, expected: dict[str, Any] | None) -> str:
    values = parse_toml(text)
    if expected is not None and values != expected:
        raise NotToml("our entries do not fit into this file")
    return text
