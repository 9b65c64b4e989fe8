"""Reads YAML text and front matter of Markdown, and edits entries of a mapping in YAML text. Pure.

Simple YAML, which most definitions are, is read here, ten times as fast as by the parser. Any other text, also an
invalid one, goes to `yaml_parser`, which is imported only then. A test checks that both return the same tree.
An edit leaves all else as it is, comments included. Its result is read again: if it does not say exactly what it
should, nothing is changed. Only block style can be edited.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from handrail.source.definition_files import Source
from handrail.source.diagnostics import Diagnostic
from handrail.source.field_checks import plain_data
from handrail.source.fields import MappingReader, Report, Shape, found
from handrail.source.tree import NO_KEYS, WORDS, TreeNode, Trouble, ValueKind, scalar

MAX_LINES = 1_000
MAX_LEVELS = 8

# The text is printable, so these sets name only what ends a value. Sets of characters beyond ASCII compile slowly.
_LINE = re.compile(
    r"^( *)(?:- |([A-Za-z][A-Za-z0-9_-]{0,80}):(?: (?=.)|$))"
    r"([A-Za-z0-9](?:[^\n#:]*[^ \n#:])?|\"[^\n\"\\]*\")?$",
    re.MULTILINE,
)
_node: Callable[[tuple[ValueKind, Any, int, int, int, dict[str, tuple[int, int]]]], TreeNode] = partial(
    tuple.__new__, TreeNode
)
"""`TreeNode` without its constructor, which takes most of the time of reading a file."""
YamlRow = tuple[str, str, str]
"""The spaces before a line, its key, and its value. An item of a list has no key, and the value may be missing."""


class _NotPlainError(Exception):
    """The text needs the full parser."""


def read_yaml(text: str, first_line: int = 1) -> tuple[TreeNode | None, list[Trouble]]:
    """The tree of one document, or None if it is empty or invalid, and the problems of the text."""
    if (tree := plain_tree(text, first_line)) is not None:
        return tree, []
    from handrail.source.yaml_parser import compose  # imports PyYAML, which many files do not need

    return compose(text, first_line)


def plain_tree(text: str, first_line: int = 1) -> TreeNode | None:
    """The tree of a simple text, or None if the text needs the full parser."""
    text = text.removesuffix("\n")
    count = text.count("\n") + 1
    if count > MAX_LINES or not text.replace("\n", " ").isprintable():
        return None
    rows: list[YamlRow] = _LINE.findall(text)
    if len(rows) != count:
        return None
    try:
        tree, end = _mapping(rows, 0, first_line, MAX_LEVELS)
    except _NotPlainError:
        return None
    return tree if end == len(rows) and not rows[0][0] else None


def _mapping(rows: list[YamlRow], at: int, first_line: int, levels: int) -> tuple[TreeNode, int]:
    """The mapping that begins at a row, and the index of the row after it."""
    begin, margin = at, rows[at][0]
    indent, end = len(margin), len(rows)
    values: dict[str, TreeNode] = {}
    keys: dict[str, tuple[int, int]] = {}
    while at < end:
        space, key, value_text = rows[at]
        if space != margin or not key:
            break
        line = first_line + at
        if key in values or key in WORDS:
            raise _NotPlainError
        keys[key] = (line, indent + 1)
        at += 1
        if value_text:
            values[key] = _scalar_node(value_text, line, indent + len(key) + 3)
        else:
            values[key], at = _read_below(rows, at, (first_line, indent, levels))
    if at < end and len(rows[at][0]) >= indent:
        raise _NotPlainError
    return _node(("mapping", values, first_line + begin, indent + 1, 1, keys)), at


def _read_below(rows: list[YamlRow], at: int, place: tuple[int, int, int]) -> tuple[TreeNode, int]:
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


def _list(rows: list[YamlRow], at: int, first_line: int) -> tuple[TreeNode, int]:
    begin, margin = at, rows[at][0]
    column = len(margin) + 1
    items: list[TreeNode] = []
    while at < len(rows) and rows[at][0] == margin and not rows[at][1]:
        value_text = rows[at][2]
        if not value_text:
            raise _NotPlainError
        items.append(_scalar_node(value_text, first_line + at, column + 2))
        at += 1
    return _node(("list", items, first_line + begin, column, 1, NO_KEYS)), at


def _scalar_node(text: str, line: int, column: int) -> TreeNode:
    begin = text[0]
    if begin > "9" and text not in WORDS:  # a letter
        return _node(("text", text, line, column, len(text), NO_KEYS))
    if begin == '"':
        return _node(("text", text[1:-1], line, column, len(text), NO_KEYS))
    kind, value = scalar(text)
    return _node((kind, value, line, column, len(text), NO_KEYS))


def split_front_matter(text: str) -> tuple[str, str, int] | None:
    """(front matter, body, line on which the body starts); None if there is no front matter."""
    if not text.startswith("---"):
        return None
    begin = text.find("\n")
    end = text.find("\n---", begin)
    if begin < 0 or end < 0 or text[:begin].strip("- "):
        return None
    front = text[begin + 1 : end]
    closing = text.find("\n", end + 1)
    body = text[closing + 1 :] if closing >= 0 else ""
    return front, body, text.count("\n", 0, end) + 3


def no_front_matter(source: Source) -> Diagnostic:
    """The problem of a file that `split_front_matter` cannot split."""
    begin = len(source.text) - len(source.text.lstrip())
    place = (*source.place(begin), 3)
    if not source.text.startswith("---", begin):
        hint = "begin the file, on its first line, with `---`"
        return source.problem("front-matter", (1, 1, 1), "the file has no front matter", hint)
    if begin:
        message, hint = "the front matter does not begin on the first line", "remove the text above `---`"
        return source.problem("front-matter", place, message, hint)
    return source.problem("front-matter", place, "the front matter is not closed", "end it with a line `---`")


def read_mapping(source: Source, text: str, first_line: int, shape: Shape, report: Report) -> MappingReader | None:
    """The top-level mapping of a YAML text, ready to be read by its shape. `first_line`: where the text begins."""
    tree, troubles = read_yaml(text, first_line)
    if troubles:
        for t in troubles:
            report(source.problem(t.code, t.place, t.message, t.hint))
        if any(t.fatal for t in troubles):
            return None
    if tree is None or tree.kind != "mapping":
        what = "nothing" if tree is None else found(tree)
        place = (first_line, 1, 1) if tree is None else tree.place
        hint = f"begin with a key: `{shape.fields[0].name}: ...`"
        subject = "the front matter" if first_line > 1 else f"`{shape.title}`"
        report(source.problem("not-mapping", place, f"{subject} has to be `key: value` lines, found {what}", hint))
        return None
    return MappingReader(source, tree, shape, report)


Entries = Mapping[str, Mapping[str, str]]


def add_entries(text: str, top: str, entries: Entries) -> str:
    """The text with these entries in the mapping `top`, which is added if it is missing. Raises `ValueError`."""
    data = _mapping_data(text)
    old_entries = data.get(top) or {}
    if not isinstance(old_entries, dict) or any(name in old_entries for name in entries):
        raise ValueError(f"`{top}` has one of these entries already, or is no mapping")
    lines = text.split("\n")
    at, indent = _insert_place(text, top, len(lines))
    head = [] if top in data else [f"{top}:"]
    new_lines = [*head, *(indent + line for line in entry_lines(entries))]
    if at == len(lines) and lines[-1] == "":
        lines.pop()
        at, new_lines = at - 1, [*new_lines, ""]
    result = "\n".join([*lines[:at], *new_lines, *lines[at:]])
    if _mapping_data(result) != {
        **data,
        top: {**old_entries, **{name: dict(routes) for name, routes in entries.items()}},
    }:
        raise ValueError(f"`{top}` is written in a way that cannot be edited")
    return result


def put_entry(text: str, top: str, name: str, entry: Mapping[str, str]) -> str:
    """The text with this entry in the mapping `top`, in place of one with the same name. Raises `ValueError`."""
    data = _mapping_data(text)
    entries = data.get(top)
    if not isinstance(entries, dict) or name not in entries:
        return add_entries(text, top, {name: entry})
    if entries[name] == dict(entry):
        return text
    other_text = _without_entry(text, top, name)
    if _mapping_data(other_text).get(top, None) != (
        {key: value for key, value in entries.items() if key != name} or None
    ):
        raise ValueError(f"`{top}` is written in a way that cannot be edited")
    return add_entries(other_text, top, {name: entry})


def _without_entry(text: str, top: str, name: str) -> str:
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


def _insert_place(text: str, top: str, end: int) -> tuple[int, str]:
    """Before which line the entries go, and with which indentation."""
    tree = read_yaml(text)[0]
    if tree is None or top not in tree.value:
        return end, "  "
    child: TreeNode = tree.value[top]
    if child.kind == "mapping" and child.keys:
        line, column = min(child.keys.values())
        return line - 1, " " * (column - 1)
    return tree.keys[top][0], "  "


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _mapping_data(text: str) -> dict[str, Any]:
    """The mapping that a text says. Raises `ValueError` if it says something else."""
    tree, troubles = read_yaml(text)
    if troubles or (tree is not None and tree.kind not in ("mapping", "null")):
        raise ValueError("the text has errors")
    return {} if tree is None else plain_data(tree) or {}
