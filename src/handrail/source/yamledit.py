"""Adds or replaces entries of a mapping in a YAML text and leaves all else as it is, comments included. Pure.

Only block style is understood. The result is read again: if it does not say exactly what it should, nothing is changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from handrail.source.simpleyaml import read_yaml
from handrail.source.yamltree import Node

Entries = Mapping[str, Mapping[str, str]]


def add_entries(text: str, top: str, entries: Entries) -> str:
    """The text with these entries in the mapping `top`, which is added if it is missing. Raises `ValueError`."""
    before = _data(text)
    old = before.get(top) or {}
    if not isinstance(old, dict) or any(name in old for name in entries):
        raise ValueError(f"`{top}` has one of these entries already, or is no mapping")
    lines = text.split("\n")
    at, indent = _place(text, top, len(lines))
    head = [] if top in before else [f"{top}:"]
    added = [*head, *(indent + line for line in entry_lines(entries))]
    if at == len(lines) and lines[-1] == "":
        lines.pop()
        at, added = at - 1, [*added, ""]
    edited = "\n".join([*lines[:at], *added, *lines[at:]])
    if _data(edited) != {**before, top: {**old, **{name: dict(routes) for name, routes in entries.items()}}}:
        raise ValueError(f"`{top}` is written in a way that cannot be edited")
    return edited


def put_entry(text: str, top: str, name: str, entry: Mapping[str, str]) -> str:
    """The text with this entry in the mapping `top`, in place of one with the same name. Raises `ValueError`."""
    before = _data(text)
    old = before.get(top)
    if not isinstance(old, dict) or name not in old:
        return add_entries(text, top, {name: entry})
    if old[name] == dict(entry):
        return text
    rest = _without(text, top, name)
    if _data(rest).get(top, None) != ({key: value for key, value in old.items() if key != name} or None):
        raise ValueError(f"`{top}` is written in a way that cannot be edited")
    return add_entries(rest, top, {name: entry})


def _without(text: str, top: str, name: str) -> str:
    """The text without the lines of an entry: from its key to the next line that is not indented deeper."""
    tree = read_yaml(text)[0]
    assert tree is not None
    line, column = tree.value[top].keys[name]
    lines = text.split("\n")
    end = line
    while end < len(lines) and lines[end].strip() and len(lines[end]) - len(lines[end].lstrip()) >= column:
        end += 1
    return "\n".join([*lines[: line - 1], *lines[end:]])


def entry_lines(entries: Entries) -> list[str]:
    """The entries as lines of YAML, each with its own mapping on one line."""
    return [
        f"{_quoted(name)}: {{{', '.join(f'{key}: {_quoted(value)}' for key, value in entry.items())}}}"
        for name, entry in entries.items()
    ]


def _place(text: str, top: str, end: int) -> tuple[int, str]:
    """Before which line the entries go, and with which indentation."""
    tree = read_yaml(text)[0]
    if tree is None or top not in tree.value:
        return end, "  "
    child: Node = tree.value[top]
    if child.kind == "mapping" and child.keys:
        line, column = min(child.keys.values())
        return line - 1, " " * (column - 1)
    return tree.keys[top][0], "  "


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _data(text: str) -> dict[str, Any]:
    """The mapping that a text says. Raises `ValueError` if it says something else."""
    tree, troubles = read_yaml(text)
    if troubles or (tree is not None and tree.kind not in ("mapping", "null")):
        raise ValueError("the text has errors")
    found = None if tree is None else _value(tree)
    return found or {}


def _value(node: Node) -> Any:
    if node.kind == "mapping":
        return {name: _value(child) for name, child in node.value.items()}
    return [_value(child) for child in node.value] if node.kind == "list" else node.value
