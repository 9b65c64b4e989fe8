"""Composes YAML text with PyYAML into located nodes, and words what is wrong with the text. Pure.

Often the mistake is earlier than the place where the parser stops: hints say what a person probably did wrong.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn

import yaml
from yaml.reader import Reader, ReaderError

from handrail.base.dataclasses import dataclass
from handrail.source.tree import (
    MAX_ALIASED,
    MAX_DEPTH,
    NO_KEYS,
    Scalar,
    TreeNode,
    Trouble,
    ValueKind,
    node_text,
    scalar,
)

_KEY_WITH_VALUE = re.compile(r"\s*(?:- )?[^\s#\"'\[{-][^#]*?:\s+[^\s|>#]")
_ITEM = re.compile(r"\s*- ")
_SHORT_CODE = re.compile(r"(\s*(?:- )?(?P<key>[\w-]+):\s+)(?P<name>:[\w+-]+:)\s*(?:#.*)?\Z")


class ParserStop(NamedTuple):
    """Where the parser stopped, and its own message. `events` reads the text again, up to this place."""

    problem: str
    line: int
    column: int
    first_line: int
    events: Callable[[], Iterator[Any]]

    def trouble(self, line: int, column: int, message: str, hint: str) -> Trouble:
        """A mistake at another place. Line and column count from 0."""
        return Trouble("yaml-syntax", line + self.first_line, column + 1, message, hint, 1, True)


def likely_mistake(lines: list[str], stop: ParserStop) -> Trouble | None:
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


def _indented_start(lines: list[str], stop: ParserStop) -> Trouble | None:
    """The first line is indented, and a later one is not."""
    for number, line in enumerate(lines[: stop.line]):
        text = line.lstrip(" ")
        if text and not text.startswith("#"):
            hint = "keys of one mapping begin in the same column; remove the spaces before this line"
            message = f"this line is indented, but line {stop.line + stop.first_line} is not"
            return stop.trouble(number, len(line) - len(text), message, hint) if line != text else None
    return None


def _bare_reference(lines: list[str], stop: ParserStop) -> Trouble | None:
    """`${...}` without quotes inside of braces or brackets."""
    line = lines[stop.line]
    begin = stop.column - 1
    if begin < 0 or line[begin : begin + 2] != "${":
        return None
    end = line.find("}", begin)
    reference = line[begin : end + 1] if end > 0 else "${...}"
    hint = f"put it in quotes: `'{reference}'`"
    return stop.trouble(stop.line, begin, "`${` needs quotes inside of braces and brackets", hint)


def _short_code(lines: list[str], stop: ParserStop) -> Trouble | None:
    """`:wrench:` as a value."""
    match = _SHORT_CODE.match(lines[stop.line])
    if match is None:
        return None
    hint = f'write the emoji itself, in quotes: `{match["key"]}: "🔧"`'
    return stop.trouble(stop.line, match.end(1), f"`{match['name']}` is the name of an emoji, not the emoji", hint)


def _late_quote(stop: ParserStop) -> Trouble | None:
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
    return stop.trouble(start.line, start.column, message, "add the closing quote at the end of this text")


def _list_after_value(lines: list[str], stop: ParserStop) -> Trouble | None:
    """A list item below a key that has a value: the key of the list is probably missing."""
    line = lines[stop.line]
    above = next((text for text in reversed(lines[: stop.line]) if text.strip()), "")
    if not _ITEM.match(line) or not _KEY_WITH_VALUE.match(above):
        return None
    message = "a list cannot begin here: the key above it has a value already"
    hint = "write the key of the list on a line before it, such as `steps:`"
    return stop.trouble(stop.line, len(line) - len(line.lstrip()), message, hint)


try:
    from yaml._yaml import CParser as _Base
except ImportError:  # PyYAML without libyaml: slower, but the same nodes
    from yaml.composer import Composer
    from yaml.parser import Parser
    from yaml.scanner import Scanner

    class _Base(Reader, Scanner, Parser, Composer):  # type: ignore[no-redef]
        """The pure Python parser with the same methods."""

        def __init__(self, text: str) -> None:
            Reader.__init__(self, text)
            Scanner.__init__(self)
            Parser.__init__(self)
            Composer.__init__(self)


SAFE_SIGNS = 1_000
_PLAIN, _TEXT, _STRUCTURE = "plain", "text", "structure"
_TAGS: dict[str, tuple[ValueKind, ...]] = {
    "tag:yaml.org,2002:str": ("text",),
    "tag:yaml.org,2002:int": ("integer",),
    "tag:yaml.org,2002:float": ("number", "integer"),
    "tag:yaml.org,2002:bool": ("boolean",),
    "tag:yaml.org,2002:null": ("null",),
    "tag:yaml.org,2002:seq": ("list",),
    "tag:yaml.org,2002:map": ("mapping",),
}


class _Parser(_Base):
    """Composes nodes without resolving types: each scalar is tagged only as plain or as text."""

    def resolve(self, kind: Any, _value: Any, implicit: Any) -> str:
        if kind is yaml.ScalarNode:
            return _PLAIN if implicit[0] else _TEXT
        return _STRUCTURE

    def descend_resolver(self, _parent: Any, _index: Any) -> None:
        """Path resolvers are not used."""

    def ascend_resolver(self) -> None:
        """Path resolvers are not used."""


class _Tree:
    """Converts composed nodes to nodes with positions, and collects the problems."""

    def __init__(self, text: str, first_line: int, replaced: dict[int, str]) -> None:
        self.last = (text.count("\n"), len(text) - text.rfind("\n") - 1)
        self.first_line = first_line
        self.replaced = replaced
        self.troubles: list[Trouble] = []
        self.left = MAX_ALIASED
        self.seen: set[int] = set()

    def convert(self, node: Any, depth: int) -> TreeNode:
        if id(node) in self.seen:
            self.count_repeat(node)
        self.seen.add(id(node))
        start, end = node.start_mark, node.end_mark
        line, column = (start.line, start.column) if start.line <= self.last[0] else self.last
        line, column = line + self.first_line, column + 1
        if type(node) is yaml.ScalarNode:
            width = end.column - start.column if end.line == start.line else 1
            kind, value = self.scalar(node)
            if self.replaced and kind == "text":
                value = str(value).translate(self.replaced)
            return TreeNode(kind, value, line, column, width or 1, NO_KEYS)
        if depth > MAX_DEPTH:
            self.too_deep(node)
        if type(node) is yaml.SequenceNode:
            self.check_tag(node, "list")
            return TreeNode("list", [self.convert(item, depth + 1) for item in node.value], line, column, 1, NO_KEYS)
        self.check_tag(node, "mapping")
        values: dict[str, TreeNode] = {}
        keys: dict[str, tuple[int, int]] = {}
        for key_node, value_node in node.value:
            if type(key_node) is not yaml.ScalarNode:
                what = "a list" if type(key_node) is yaml.SequenceNode else "a mapping"
                hint = "put text that begins with a bracket or a brace in quotes"
                self.stop(key_node, "yaml-key", f"a key has to be text, found {what}", hint)
            key = self.convert(key_node, depth)
            item = self.convert(value_node, depth + 1)
            name = key.value if key.kind == "text" else node_text(key)
            if name in values:
                message = f"key `{name}` is given twice"
                hint = f"the first one is on line {keys[name][0]}; remove one of them"
                trouble = Trouble("yaml-duplicate-key", key.line, key.column, message, hint, key.width, False)
                self.troubles.append(trouble)
            else:
                values[name], keys[name] = item, (key.line, key.column)
        return TreeNode("mapping", values, line, column, 1, keys)

    def count_repeat(self, node: Any) -> None:
        """Count a value that an alias repeats. A file is limited by its size, but aliases can repeat without limit."""
        self.left -= 1
        if self.left < 0:
            message = f"aliases repeat more than {MAX_ALIASED} values"
            self.stop(node, "yaml-too-many", message, "write fewer aliases of large values")

    def scalar(self, node: Any) -> tuple[ValueKind, Scalar]:
        if node.tag is _TEXT or node.tag in ("!", "tag:yaml.org,2002:str"):
            return "text", node.value
        kind, value = scalar(node.value)
        if node.tag is not _PLAIN:
            self.check_tag(node, kind)
        return kind, value

    def check_tag(self, node: Any, kind: ValueKind) -> None:
        tag = node.tag
        if tag is _STRUCTURE or tag == "!" or kind in _TAGS.get(tag, ()):
            return
        tag_text = tag.replace("tag:yaml.org,2002:", "!!", 1)
        message = f"tag `{tag_text}` does not fit this value" if tag in _TAGS else f"tag `{tag_text}` is not known here"
        self.stop(node, "yaml-tag", message, "remove the tag; plain values are enough")

    def too_deep(self, node: Any) -> NoReturn:
        message = f"values are nested more than {MAX_DEPTH} levels deep"
        self.stop(node, "yaml-too-deep", message, "use fewer levels; no definition needs so many")

    def stop(self, node: Any, code: str, message: str, hint: str | None = None) -> NoReturn:
        mark = node.start_mark
        self.troubles.append(Trouble(code, mark.line + self.first_line, mark.column + 1, message, hint, 1, True))
        raise _StopError


class _StopError(Exception):
    """Stops reading; the reason is already in `troubles`."""


def compose(text: str, first_line: int = 1) -> tuple[TreeNode | None, list[Trouble]]:
    """The tree of one document, or None if it is empty or invalid, and the problems of the text."""
    text, original_chars = _replace_old_line_breaks(text)
    tree = _Tree(text, first_line, original_chars)
    try:
        _check_depth(text, tree)
        root = _Parser(text).get_single_node()
        return (None if root is None else tree.convert(root, 1)), tree.troubles
    except _StopError:
        return None, tree.troubles
    except RecursionError:
        message = f"values are nested more than {MAX_DEPTH} levels deep"
        tree.troubles.append(Trouble("yaml-too-deep", first_line, 1, message, None, 1, True))
    except yaml.YAMLError as error:
        tree.troubles.append(_syntax(error, text, first_line))
    except ValueError:
        message = "the text cannot be read as YAML"
        tree.troubles.append(Trouble("yaml-syntax", first_line, 1, message, None, 1, True))
    return None, tree.troubles


def _replace_old_line_breaks(text: str) -> tuple[str, dict[int, str]]:
    """The text without the characters that end a line only in YAML 1.1, and a table to restore them."""
    original_chars: dict[int, str] = {}
    for char in "\x85\u2028\u2029":
        if char in text:
            unused = next(code for code in range(0xE000, 0xF900) if chr(code) not in text)
            text, original_chars[unused] = text.replace(char, chr(unused)), char
    return text, original_chars


def _check_depth(text: str, tree: _Tree) -> None:
    """Raise `_StopError` if values are nested too deeply. Checked first, because composing recurses in C.

    Each level of nesting needs one of five characters. If the text has few of them, it cannot be deep.
    """
    if sum(map(text.count, "[{-?:")) <= SAFE_SIGNS:
        return
    parser, depth = _Parser(text), 0
    while (event := parser.get_event()) is not None:
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                tree.too_deep(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


@dataclass(frozen=True)
class _Mistake:
    """A common mistake in YAML: a part of the parser's message, and our message. `{sign}` is the character found.

    `message` describes the place where the parser stopped, `at_start` the place where the invalid value begins. With
    both, `at_start` is used for a value that does not end on its first line.
    """

    parser_text: str
    message: str
    hint: str
    at_start: str = ""


_COLUMN = "keys of one mapping begin in the same column"
_SAME_COLUMN = "begin every item with `- `, in the same column"
_QUOTES = "put the text in quotes"
_MISTAKES = (
    _Mistake("another document", "a second document starts here", "keep one document per file; remove the `---` line"),
    _Mistake("end of stream", "", "add the closing quote", "this quote is not closed"),
    _Mistake(
        "',' or ']'",
        "`,` or `]` was expected here, found {sign}",
        "write `,` between the items of a list and `]` at its end",
        "this list is not closed",
    ),
    _Mistake(
        "',' or '}'",
        "`,` or `}` was expected here, found {sign}",
        "write `,` between the keys of a mapping and `}` at its end",
        "this mapping is not closed",
    ),
    _Mistake(
        "mapping values are not allowed",
        "`:` is not allowed here: the text before it cannot be a key",
        f"put text that contains `: ` in quotes; {_COLUMN}",
    ),
    _Mistake(
        "tab character that violates", "found a tab where only spaces are allowed", "indent with spaces, not tabs"
    ),
    _Mistake("cannot start any token", "a value cannot begin with {sign}", _QUOTES),
    _Mistake("alphabetic or numeric character", "a name has to follow `*` or `&`, found {sign}", _QUOTES),
    _Mistake("undefined alias", "this alias has no anchor", "put text that begins with `*` in quotes"),
    _Mistake("second occurrence", "this anchor is defined twice", "give each anchor its own name"),
    _Mistake(
        "did not find expected key",
        "a key was expected here, found {sign}",
        f"{_COLUMN}; no text is allowed after a closing quote or bracket",
    ),
    _Mistake("'-' indicator", "a list item was expected here, found {sign}", _SAME_COLUMN),
    _Mistake("expected ':'", "", "write `key: value`, with a space after the colon", "this key has no `: ` after it"),
    _Mistake("unknown escape", "this escape is not known", "write `\\\\` for a backslash, or use single quotes"),
    _Mistake("escape code", "this escape does not name a character", "write the character itself"),
    _Mistake("entries are not allowed", "a list cannot begin here", "begin the list on the line below its key"),
    _Mistake(
        "node content", "a value was expected here, found {sign}", "look for a missing opening or closing bracket"
    ),
    _Mistake(
        "comment or line break",
        "no text is allowed in the rest of this line",
        "begin the text on the next line, indented",
    ),
    _Mistake("incompatible YAML", "this version of YAML is not known", "remove the `%YAML` line"),
    _Mistake("directive name", "this directive is not known", "put text that begins with `%` in quotes"),
    _Mistake("<document start>", "a document cannot begin here", "remove the `...` or `%` line before it"),
)


def _syntax(error: yaml.YAMLError, text: str, first_line: int) -> Trouble:
    if isinstance(error, ReaderError):
        return _unprintable(text, first_line)
    lines = text.split("\n")
    problem = getattr(error, "problem", None) or str(error).split("\n", 1)[0]
    context = getattr(error, "context", None)
    mark = getattr(error, "problem_mark", None)
    if mark is not None and mark.line < len(lines):
        trouble = likely_mistake(lines, ParserStop(problem, mark.line, mark.column, first_line, lambda: _events(text)))
        if trouble is not None:
            return trouble
    known_mistake = next((mistake for mistake in _MISTAKES if mistake.parser_text in problem), None)
    mistake = known_mistake or _Mistake("", f"{problem} {context}" if context else str(problem), "")
    start, end = getattr(error, "context_mark", None), getattr(error, "problem_mark", None)
    line, column, sign = _mark_place(lines, end or start)
    message = mistake.message
    if mistake.at_start and start is not None and (not message or start.line != line or column >= len(lines[line])):
        line, column, sign = _mark_place(lines, start)
        message = mistake.at_start
    code = "yaml-many-documents" if mistake.parser_text == "another document" else "yaml-syntax"
    hint = "indent with spaces, not tabs" if sign == "a tab" else mistake.hint or None
    if mistake.parser_text == "did not find expected key" and sign == "`-`" and not lines[line][:column].strip():
        hint = _SAME_COLUMN
    return Trouble(code, line + first_line, column + 1, message.replace("{sign}", sign), hint, 1, True)


def _events(text: str) -> Iterator[Any]:
    """The events of a text up to the place where the parser stops."""
    parser = _Parser(text)
    with contextlib.suppress(yaml.YAMLError):
        while (event := parser.get_event()) is not None:
            yield event


_SIGNS = {"": "the end of the line", "\t": "a tab", " ": "a space", "`": "a backtick"}


def _mark_place(lines: list[str], mark: Any) -> tuple[int, int, str]:
    """(line, column, description of the character). After the last non-blank line: the end of that line."""
    line, column = (mark.line, mark.column) if mark is not None else (0, 0)
    last = max((number for number, content in enumerate(lines) if content.strip()), default=0)
    if line > last:
        return last, len(lines[last]), "the end of the file"
    char = lines[line][column : column + 1]
    return line, column, _SIGNS.get(char, f"`{char}`")


def _unprintable(text: str, first_line: int) -> Trouble:
    match = Reader.NON_PRINTABLE.search(text)
    at = match.start() if match else 0
    line, column = text.count("\n", 0, at) + first_line, at - text.rfind("\n", 0, at)
    message = f"the character U+{ord(text[at]):04X} is not allowed in YAML"
    hint = "remove it, or write it in double quotes as an escape such as `\\x1b`"
    return Trouble("yaml-syntax", line, column, message, hint, 1, True)
