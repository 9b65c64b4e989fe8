"""Adds tables and keys to a TOML text, and removes them, and keeps all other bytes unchanged. Pure.

Used for settings files of other programs, which may edit them, too, and may put their tables between ours. So our
tables have a note in the line of their header, and are removed by it. Every result is parsed and checked.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

Path = tuple[str, ...]
_BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


class NotToml(ValueError):
    """The text is not TOML, or our entries do not fit into it."""


def parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise NotToml(str(error)) from error


def add_tables(text: str, tables: Mapping[Path, Mapping[str, Any]], note: str) -> str:
    """The text with new tables at its end. Each header ends with the note. Raises `NotToml` if one of them exists."""
    expected = parsed(text)
    lines = []
    for path, values in tables.items():
        _put(expected, path, dict(values))
        lines.append(f"[{header(path)}]  # {note}\n")
        lines += [f"{header((key,))} = {value_text(value)}\n" for key, value in values.items()]
    return _checked(_with_gap(text) + "".join(lines), expected)


def add_key(text: str, table: str, key: str, value: Any, note: str) -> str:
    """The text with a key in a table of the first level; unchanged if the key exists. The line ends with the note."""
    expected = parsed(text)
    present = expected.get(table)
    if isinstance(present, dict) and key in present:
        return text
    line = f"{key} = {value_text(value)}  # {note}\n"
    lines = text.splitlines(keepends=True)
    at = next((i for i, one in enumerate(lines) if _header_of(one) == (table,)), None)
    _put(expected, (table, key), value)
    if at is not None:
        lines[at] = lines[at] if lines[at].endswith("\n") else lines[at] + "\n"
        return _checked("".join([*lines[: at + 1], line, *lines[at + 1 :]]), expected)
    if present is not None:
        return _checked(f"{table}.{line}{text}", expected)
    return _checked(f"{_with_gap(text)}[{table}]  # for a key {note}\n{line}", expected)


def remove(text: str, note: str) -> str:
    """The text without the tables and the keys with this note. Tables below a table of ours are removed, too."""
    parsed(text)
    lines = text.splitlines(keepends=True)
    ours = [path for line in lines if (path := _header_of(line)) and _has_note(line, note)]
    kept: list[str] = []
    held: list[str] = []
    is_inside = False
    for line in lines:
        path = _header_of(line)
        if path is not None:
            is_inside = any(path[: len(one)] == one for one in ours)
            kept, held = (_without_gap(kept), held) if is_inside else (kept + held, [])
        if not is_inside:
            kept += [] if path is None and _has_note(line, note) else [line]
        elif not line.strip() or line.lstrip().startswith("#"):
            held.append(line)  # it may belong to the table that follows
        else:
            held = []
    return _checked("".join(_without_empty([*kept, *held], note)), None)


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
    kept: list[str] = []
    for at, line in enumerate(lines):
        if not _has_note(line, f"for a key {note}"):
            kept.append(line)
        elif _has_keys(lines[at + 1 :]):
            kept.append(line.partition("  # for a key")[0] + "\n")
        else:
            kept = _without_gap(kept)
    return kept


def _has_keys(lines: list[str]) -> bool:
    """True if the table whose header is before these lines has a key."""
    for line in lines:
        if _header_of(line) is not None:
            return False
        if line.strip() and not line.lstrip().startswith("#"):
            return True
    return False


def header(path: Path) -> str:
    return ".".join(part if part and _BARE.issuperset(part) else _quoted(part) for part in path)


def value_text(value: Any) -> str:
    """A value in one line."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{header((key,))} = {value_text(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(value_text, value)) + "]"
    return json.dumps(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _header_of(line: str) -> Path | None:
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


def _put(value: dict[str, Any], path: Path, new: Any) -> None:
    for key in path[:-1]:
        value = value.setdefault(key, {})
        if not isinstance(value, dict):
            raise NotToml(f"`{header(path)}` does not fit: `{key}` is not a table")
    if path[-1] in value:
        raise NotToml(f"it already has `{header(path)}`, which does not belong to Handrail")
    value[path[-1]] = new


def _checked(text: str, expected: dict[str, Any] | None) -> str:
    found = parsed(text)
    if expected is not None and found != expected:
        raise NotToml("our entries do not fit into this file")
    return text
