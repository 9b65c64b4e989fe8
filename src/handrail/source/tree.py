"""A tree of located values, as the readers of YAML and JSON return it. Scalars follow YAML 1.2. Pure.

The depth, and the number of values that aliases repeat, are limited. This module does not know the meaning of keys.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, Literal, NamedTuple

from handrail.base.dataclasses import dataclass
from handrail.source.values import number_text, written

MAX_DEPTH = 50
MAX_ALIASED = 20_000

Scalar = str | int | float | bool | None
ValueKind = Literal["text", "integer", "number", "boolean", "null", "list", "mapping", "later"]


class TreeNode(NamedTuple):
    """A value and its position. For a mapping, `keys` holds the position of each key.

    The parser never creates a node of kind `later`. This kind stands for a value that is known only when a flow runs.
    """

    kind: ValueKind
    value: Any
    line: int
    column: int
    width: int
    keys: dict[str, tuple[int, int]]

    @property
    def place(self) -> tuple[int, int, int]:
        return self.line, self.column, self.width


@dataclass(frozen=True)
class Trouble:
    """A problem with the YAML text. `fatal` means that no tree is returned."""

    code: str
    line: int
    column: int
    message: str
    hint: str | None
    width: int
    fatal: bool

    @property
    def place(self) -> tuple[int, int, int]:
        return self.line, self.column, self.width


_NOT_FINITE_WORDS = (
    *(".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF"),
    *(".nan", ".NaN", ".NAN"),
)
NO_KEYS: dict[str, tuple[int, int]] = {}
WORDS: dict[str, tuple[ValueKind, Scalar]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), ("null", None)),
    **dict.fromkeys(("true", "True", "TRUE"), ("boolean", True)),
    **dict.fromkeys(("false", "False", "FALSE"), ("boolean", False)),
    **{word: ("number", written(float(word.replace(".", "")), word)) for word in _NOT_FINITE_WORDS},
}
_NOT_FINITE = {"Infinity": ".inf", "-Infinity": "-.inf", "NaN": ".nan"}
_NUMERIC_START = frozenset("0123456789+-.")


def scalar(text: str) -> tuple[ValueKind, Scalar]:
    """The kind and value of a plain (unquoted) scalar in the YAML 1.2 core schema."""
    if (word := WORDS.get(text)) is not None:
        return word
    if text[0] not in _NUMERIC_START or len(text) > 400 or not text.isascii():
        return "text", text
    digits = text[1:] if text[0] in "+-" else text
    if digits.isdigit():
        return "integer", written(int(text), text)
    if text[:2] in ("0x", "0o"):
        alphabet = "0123456789abcdefABCDEF" if text[1] == "x" else "01234567"
        if len(text) > 2 and all(c in alphabet for c in text[2:]):
            return "integer", written(int(text[2:], 16 if text[1] == "x" else 8), text)
        return "text", text
    return _float(text, digits) if text[-1] <= "9" else ("text", text)


def _float(text: str, digits: str) -> tuple[ValueKind, Scalar]:
    mantissa, mark, exponent = digits.replace("E", "e").partition("e")
    whole, _, fraction = mantissa.partition(".")
    plain = (whole + fraction).isdigit() and (not whole or whole.isdigit()) and (not fraction or fraction.isdigit())
    power = exponent[1:] if exponent[:1] in ("+", "-") else exponent
    if not plain or (mark and not power.isdigit()):
        return "text", text
    value = float(text)
    return ("number", written(value, text)) if isfinite(value) else ("text", text)  # `1e999` is too large for a number


def node_text(node: TreeNode) -> str:
    """A scalar as YAML text. A number is as it was written."""
    value = node.value
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = number_text(value) if isinstance(value, int | float) else str(value)
    return _NOT_FINITE.get(text, text)
