"""A fast reader for simple YAML, which most definitions are. It is ten times as fast as the parser. Pure.

It reads keys with one value, lists of values and nested mappings. A value is plain or in double quotes, on one line.
For any other text, also for invalid text, the full parser is used. A test checks that both return the same tree.
"""

from __future__ import annotations

import re

from handrail.source.yamltree import WORDS, Node, Trouble, scalar

MAX_LINES = 1_000
MAX_LEVELS = 8

# The text is printable, so these sets name only what ends a value. Sets of characters beyond ASCII compile slowly.
_LINE = re.compile(
    r"^( *)(?:- |([A-Za-z][A-Za-z0-9_-]{0,80}):(?: (?=.)|$))"
    r"([A-Za-z0-9](?:[^\n#:]*[^ \n#:])?|\"[^\n\"\\]*\")?$",
    re.MULTILINE,
)
_NO_KEYS: dict[str, tuple[int, int]] = {}
Row = tuple[str, str, str]
"""The spaces before a line, its key, and its value. An item of a list has no key, and the value may be missing."""


class _NotPlainError(Exception):
    """The text needs the full parser."""


def read_yaml(text: str, first_line: int = 1) -> tuple[Node | None, list[Trouble]]:
    """The tree of one document, or None if it is empty or invalid, and the problems of the text."""
    tree = plain_tree(text, first_line)
    if tree is not None:
        return tree, []
    from handrail.source.composer import compose  # imports PyYAML, which many files do not need

    return compose(text, first_line)


def plain_tree(text: str, first_line: int = 1) -> Node | None:
    """The tree of a simple text, or None if the text needs the full parser."""
    text = text.removesuffix("\n")
    count = text.count("\n") + 1
    if count > MAX_LINES or not text.replace("\n", " ").isprintable():
        return None
    rows: list[Row] = _LINE.findall(text)
    if len(rows) != count:
        return None
    try:
        tree, end = _mapping(rows, 0, first_line, MAX_LEVELS)
    except _NotPlainError:
        return None
    return tree if end == len(rows) and not rows[0][0] else None


def _mapping(rows: list[Row], at: int, first_line: int, levels: int) -> tuple[Node, int]:
    """The mapping that begins at a row, and the index of the row after it."""
    begin, margin = at, rows[at][0]
    indent = len(margin)
    values: dict[str, Node] = {}
    keys: dict[str, tuple[int, int]] = {}
    while at < len(rows):
        space, key, written = rows[at]
        if space != margin or not key:
            break
        line = first_line + at
        if key in values or key in WORDS:
            raise _NotPlainError
        keys[key] = (line, indent + 1)
        at += 1
        if not written:
            values[key], at = _below(rows, at, (first_line, indent, levels))
        else:
            values[key] = _value(written, line, indent + len(key) + 3)
    if at < len(rows) and len(rows[at][0]) >= indent:
        raise _NotPlainError
    return Node("mapping", values, first_line + begin, indent + 1, 1, keys), at


def _below(rows: list[Row], at: int, place: tuple[int, int, int]) -> tuple[Node, int]:
    """The list or mapping below a key without a value. A list may begin in the same column as the key."""
    first_line, indent, levels = place
    if at == len(rows) or not levels:
        raise _NotPlainError
    deeper = len(rows[at][0]) - indent
    if not rows[at][1] and deeper >= 0:
        return _list(rows, at, first_line)
    if deeper <= 0:
        raise _NotPlainError
    return _mapping(rows, at, first_line, levels - 1)


def _list(rows: list[Row], at: int, first_line: int) -> tuple[Node, int]:
    begin, margin = at, rows[at][0]
    column = len(margin) + 1
    items: list[Node] = []
    while at < len(rows) and rows[at][0] == margin and not rows[at][1]:
        written = rows[at][2]
        if not written:
            raise _NotPlainError
        items.append(_value(written, first_line + at, column + 2))
        at += 1
    return Node("list", items, first_line + begin, column, 1, _NO_KEYS), at


def _value(written: str, line: int, column: int) -> Node:
    if written[0] == '"':
        return Node("text", written[1:-1], line, column, len(written), _NO_KEYS)
    if written[0] > "9" and written not in WORDS:  # a letter
        return Node("text", written, line, column, len(written), _NO_KEYS)
    kind, value = scalar(written)
    return Node(kind, value, line, column, len(written), _NO_KEYS)
