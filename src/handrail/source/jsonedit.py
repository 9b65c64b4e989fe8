"""Edits a JSON text in one place and keeps all other bytes unchanged. Pure.

Used for settings files of other programs. Members are inserted into and removed from the text itself; the file is
never serialized again. With `comments`, the text may have comments and commas after the last part, as the program
itself allows; they are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from handrail.source.dataclasses import dataclass

Path = tuple[str, ...]
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


def plain(text: str) -> str:
    """The text with spaces instead of comments and last commas: JSON of the same length, if it is JSON otherwise."""

    def blank(found: re.Match[str]) -> str:
        part = found[0]
        return part if part.startswith('"') else re.sub(r"[^\n]", " ", part)

    return _LAST_COMMA.sub(blank, _COMMENT.sub(blank, text))


def outline(text: str, *, comments: bool = False) -> Span:
    """The positions of all values in a text that holds one JSON object. Raises `NotJson` for another text."""
    text = plain(text) if comments else text
    try:
        json.loads(text)
    except ValueError as error:
        raise NotJson(str(error)) from error
    span = _value(text, _skip(text, 0))
    if span.kind != "object":
        raise NotJson("an object was expected")
    return span


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _value(text: str, at: int) -> Span:
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
        parts.append(Part(key, begin, _value(text, at)))
        at = _skip(text, parts[-1].value.end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return Span(start, at + 1, "object" if is_object else "list", tuple(parts))


def find(text: str, path: Path, *, comments: bool = False) -> Span | None:
    """The position of the value at a path of keys, or None if there is no value."""
    span: Span | None = outline(text, comments=comments)
    for name in path:
        span = next((part.value for part in span.parts if part.key == name), None) if span else None
    return span


def add_member(text: str, path: Path, key: str, value: Any, *, comments: bool = False) -> str:
    """The text with a new first member in the object at `path`. Missing objects on the path are created."""
    span = find(text, path, comments=comments)
    if span is None:
        return add_member(text, path[:-1], path[-1], {key: value}, comments=comments)
    if span.kind != "object":
        raise NotJson(f"`{'.'.join(path)}` is not an object")
    return _insert(text, span, f"{json.dumps(key)}: {_dump(value, len(path) + 1)}", len(path) + 1)


def add_item(text: str, path: Path, value: Any, *, comments: bool = False) -> str:
    """The text with a new first item in the list at `path`. A missing list is created."""
    span = find(text, path, comments=comments)
    if span is None:
        return add_member(text, path[:-1], path[-1], [value], comments=comments)
    if span.kind != "list":
        raise NotJson(f"`{'.'.join(path)}` is not a list")
    return _insert(text, span, _dump(value, len(path) + 1), len(path) + 1)


def append_item(text: str, path: Path, value: Any) -> str:
    """The text with a new last item in the list at `path`. A missing list is created."""
    span = find(text, path)
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


def replace(text: str, path: Path, value: Any) -> str:
    """The text with another value at an existing path."""
    span = find(text, path)
    assert span is not None
    return text[: span.start] + _dump(value, len(path)) + text[span.end :]


def remove_member(text: str, path: Path, *, comments: bool = False) -> str:
    """The text without the member at `path`. Objects that become empty are removed too."""
    owner = find(text, path[:-1], comments=comments)
    place = next((i for i, part in enumerate(owner.parts) if part.key == path[-1]), None) if owner else None
    return text if owner is None or place is None else _without(text, path[:-1], owner, place, comments)


def remove_items(text: str, path: Path, ours: Callable[[Any], bool], *, comments: bool = False) -> str:
    """The text without the items for which `ours` returns True. A list that becomes empty is removed too."""
    while True:
        owner, body = find(text, path, comments=comments), plain(text) if comments else text
        parts = owner.parts if owner and owner.kind == "list" else ()
        values = [json.loads(body[part.value.start : part.value.end]) for part in parts]
        place = next((i for i, value in enumerate(values) if ours(value)), None)
        if owner is None or place is None:
            return text
        text = _without(text, path, owner, place, comments)


def _without(text: str, path: Path, owner: Span, place: int, comments: bool) -> str:
    parts, body = owner.parts, plain(text) if comments else text
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
