"""Reads JSON text into the same tree of located nodes as YAML, and words what is wrong with the text. Pure.

YAML knows most of JSON, but not all: it refuses a character that is written as two escaped surrogates, which is how
many programs write an emoji.
"""

from __future__ import annotations

import math
import re
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]  # the C function behind `json.loads`
from typing import NoReturn

from handrail.source.definition_files import Source
from handrail.source.tree import MAX_DEPTH, NO_KEYS, Scalar, TreeNode, Trouble, ValueKind
from handrail.source.values import shown, written

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[^\s,:{}\[\]\"]+")
_HALF = re.compile("[\ud800-\udfff]")
_NAMES: dict[str, tuple[ValueKind, Scalar]] = {
    "true": ("boolean", True),
    "false": ("boolean", False),
    "null": ("null", None),
}
_LONGEST_NUMBER = 400
_STRING_PROBLEMS = {
    "Unterminated string": ("this text is not closed", 'add the closing `"`'),
    "Invalid control": ("a line break or a tab is not allowed inside text", "write `\\n` or `\\t`"),
    "Invalid \\escape": ("this escape is not known", "write `\\\\` for a backslash"),
    "Invalid \\uXXXX": ("`\\u` needs four hexadecimal digits", "write the character itself"),
}


class _StopError(Exception):
    """Stops reading; the reason is already in `troubles`."""


def read_json(text: str, *, keeps_texts: bool = False) -> tuple[TreeNode | None, list[Trouble]]:
    """The tree of a JSON text, or None if it is empty or invalid, and the problems of the text.

    `keeps_texts`: numbers keep the text they were written with. Otherwise 2.0 is the same as 2, as in JavaScript.
    """
    reading = _Reading(text, keeps_texts=keeps_texts)
    if reading.is_at_end:
        return None, []
    try:
        return reading.document(), reading.troubles
    except _StopError:
        return None, reading.troubles


class _Reading:
    """Reads one text. `at` is the offset of the next character that is not white space.

    `end` is the end of the last text, number or word.
    """

    def __init__(self, text: str, *, keeps_texts: bool) -> None:
        self.text = text
        self.keeps_texts = keeps_texts
        self.source = Source("", text)
        self.troubles: list[Trouble] = []
        self.at = self.end = 0
        self.skip(0)

    def skip(self, at: int) -> None:
        """Move to the first character after `at` that is not white space."""
        match = _SPACE.match(self.text, at)
        self.at = match.end() if match is not None else at

    @property
    def is_at_end(self) -> bool:
        return self.at >= len(self.text)

    @property
    def sign(self) -> str:
        return self.text[self.at : self.at + 1]

    def stop(self, at: int, message: str, hint: str | None, code: str = "json-syntax") -> NoReturn:
        line, column = self.source.place(min(at, len(self.text.rstrip())))
        self.troubles.append(Trouble(code, line, column, message, hint, 1, True))
        raise _StopError

    def unexpected(self, message: str, hint: str) -> NoReturn:
        """Stop here. Comments and other quotes have their own messages."""
        if self.sign in ("/", "#"):
            self.stop(self.at, "JSON has no comments", "remove it, or use a YAML file, which has comments with `#`")
        if self.sign == "'":
            self.stop(self.at, "text has to be in double quotes", "write `\"`, not `'`")
        self.stop(self.at, message, hint)

    @property
    def found(self) -> str:
        return "the end of the file" if self.is_at_end else f"`{self.sign}`"

    def document(self) -> TreeNode:
        tree = self.value(1)
        if self.is_at_end:
            return tree
        return self.unexpected("text follows the end of the JSON value", "keep one value per file")

    def value(self, depth: int) -> TreeNode:
        if self.sign in ("{", "["):
            if depth > MAX_DEPTH:
                message = f"values are nested more than {MAX_DEPTH} levels deep"
                self.stop(self.at, message, "use fewer levels; no definition needs so many", "yaml-too-deep")
            return self.mapping(depth) if self.sign == "{" else self.list(depth)
        start = self.at
        kind, value = ("text", self.string()) if self.sign == '"' else self.word()
        line, column = self.source.place(start)
        return TreeNode(kind, value, line, column, self.end - start, NO_KEYS)

    def mapping(self, depth: int) -> TreeNode:
        start, values, keys = self.at, dict[str, TreeNode](), dict[str, tuple[int, int]]()
        self.skip(start + 1)
        while self.sign != "}":
            key_at = self.at
            name, place = self.key(start), self.source.place(key_at)
            item = self.value(depth + 1)
            if name in values:
                hint = f"the first one is on line {keys[name][0]}; remove one of them"
                message = f"key `{name}` is given twice"
                self.troubles.append(Trouble("yaml-duplicate-key", *place, message, hint, len(name) + 2, False))
            else:
                values[name], keys[name] = item, place
            self.separator(start, "}", "object", "members")
        self.skip(self.at + 1)
        return TreeNode("mapping", values, *self.source.place(start), 1, keys)

    def key(self, start: int) -> str:
        if self.is_at_end:
            self.stop(start, "this object is not closed", "add `}`")
        if self.sign != '"':
            word = _WORD.match(self.text, self.at)
            hint = f'write `"{shown(word.group())}": VALUE`' if word is not None else 'write `"KEY": VALUE`'
            self.unexpected(f"a key in double quotes was expected here, found {self.found}", hint)
        name = self.string()
        if self.sign != ":":
            self.unexpected(
                f"`:` was expected after the key `{shown(name)}`, found {self.found}", 'write `"KEY": VALUE`'
            )
        self.skip(self.at + 1)
        return name

    def list(self, depth: int) -> TreeNode:
        start, items = self.at, []
        self.skip(start + 1)
        while self.sign != "]":
            if self.is_at_end:
                self.stop(start, "this list is not closed", "add `]`")
            items.append(self.value(depth + 1))
            self.separator(start, "]", "list", "items")
        self.skip(self.at + 1)
        return TreeNode("list", items, *self.source.place(start), 1, NO_KEYS)

    def separator(self, start: int, close: str, what: str, parts: str) -> None:
        """Read the `,` after a member or an item. Nothing to read before the closing bracket."""
        if self.is_at_end:
            self.stop(start, f"this {what} is not closed", f"add `{close}`")
        if self.sign == close:
            return
        if self.sign != ",":
            hint = f"write `,` between the {parts} of the {what} and `{close}` at its end"
            self.unexpected(f"`,` or `{close}` was expected here, found {self.found}", hint)
        comma = self.at
        self.skip(comma + 1)
        if self.sign == close:
            self.stop(comma, f"no `,` is allowed before `{close}`", "remove it")

    def string(self) -> str:
        start = self.at
        try:
            text, self.end = scanstring(self.text, start + 1, True)
        except JSONDecodeError as error:
            problem_texts = next(
                (texts for part, texts in _STRING_PROBLEMS.items() if error.msg.startswith(part)), None
            )
            message, hint = problem_texts or (f"this text cannot be read: {error.msg}", None)
            self.stop(start if error.msg.startswith("Unterminated") else error.pos, message, hint)
        if _HALF.search(text):
            self.stop(start, "this text holds half of a character", "write both halves, or the character itself")
        self.skip(self.end)
        return str(text)

    def word(self) -> tuple[ValueKind, Scalar]:
        """A number, `true`, `false` or `null`."""
        match = _WORD.match(self.text, self.at)
        word = match.group() if match is not None else ""
        if word in _NAMES:
            self.end = self.at + len(word)
            self.skip(self.end)
            return _NAMES[word]
        if not _NUMBER.fullmatch(word):
            hint = f'put text in double quotes: `"{shown(word)}"`' if word else "look for a missing value or bracket"
            if not self.text[: self.at].strip():
                hint = "begin with `{`; a file in YAML needs a name that ends with `.yaml`"
            self.unexpected(f"a value was expected here, found {f'`{shown(word)}`' if word else self.found}", hint)
        self.end = self.at + len(word)
        self.skip(self.end)
        return self.number(word)

    def number(self, word: str) -> tuple[ValueKind, Scalar]:
        """The number. One that is too large stays text."""
        if len(word) > _LONGEST_NUMBER:
            return "text", word
        value: float = int(word) if word.lstrip("-").isdigit() else float(word)
        if abs(value) == math.inf:
            return "text", word
        if self.keeps_texts:
            value = written(value, word)
        return "integer" if isinstance(value, int) else "number", value
