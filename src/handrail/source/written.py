"""Numbers that keep the text they were written with: `1.10` counts as 1.1, and is inserted into text as `1.10`. Pure.

JSON keeps the value of a number but not its text. So a record keeps the texts beside the value: `texts_in` finds them,
and `restore` puts them back.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Self


class WrittenInteger(int):
    """A whole number whose text is not the usual one: `007`, `+5`, `0x1f`."""

    text: str

    def __new__(cls, value: int, text: str = "") -> Self:
        self = super().__new__(cls, value)
        self.text = text
        return self

    def __repr__(self) -> str:
        return self.text


class WrittenFloat(float):
    """A number whose text is not the usual one: `1.10`, `2.0`, `1e3`."""

    text: str

    def __new__(cls, value: float, text: str = "") -> Self:
        self = super().__new__(cls, value)
        self.text = text
        return self

    def __repr__(self) -> str:
        return self.text


def written(value: float, text: str) -> float:
    """The number with its text. A plain number if the text is the usual one."""
    if number_text(value) == text:
        return value
    return WrittenInteger(value, text) if isinstance(value, int) else WrittenFloat(value, text)


def parse_float(text: str) -> float | str:
    """For `json`: a number that keeps its text. A number that is too large stays text."""
    value = float(text)
    return written(value, text) if math.isfinite(value) else text


def typed(text: str) -> Any:
    """What a person typed: as JSON if it is JSON, else as text. A number keeps its text, such as `1.10`."""
    try:
        value = json.loads(text, parse_constant=lambda name: name, parse_float=parse_float)
    except (ValueError, RecursionError):
        return text
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return written(value, text) if is_number else value


def number_text(value: float) -> str:
    """The text of a number: as it was written, else as JavaScript writes it (`2`, `0.5`, `1e-7`, `1e+21`)."""
    if isinstance(value, WrittenInteger | WrittenFloat):
        return value.text
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    sign, (digits, point) = "-" if value < 0 else "", _digits(abs(value))
    if not -6 < point <= 21:
        mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
        return f"{sign}{mantissa}e{point - 1:+d}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    whole, rest = digits[:point].ljust(point, "0"), digits[point:]
    return f"{sign}{whole}.{rest}" if rest else f"{sign}{whole}"


def _digits(value: float) -> tuple[str, int]:
    """The shortest digits of a number, and the position of the point in them: 0.5 is ("5", 0), 120.0 is ("12", 3)."""
    mantissa, _, exponent = repr(float(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    return digits.rstrip("0"), point


def texts_in(value: Any) -> dict[str, str]:
    """The texts of all written numbers in a value, by JSON pointer. Empty for most values."""
    found: dict[str, str] = {}
    waiting = [("", value)]
    while waiting:
        pointer, part = waiting.pop()
        if isinstance(part, WrittenInteger | WrittenFloat):
            found[pointer] = part.text
        elif isinstance(part, dict):
            waiting += [(f"{pointer}/{_escaped(name)}", inner) for name, inner in part.items() if _may_hold(inner)]
        elif isinstance(part, list):
            waiting += [(f"{pointer}/{place}", inner) for place, inner in enumerate(part) if _may_hold(inner)]
    return found


def _may_hold(value: Any) -> bool:
    return isinstance(value, dict | list | WrittenInteger | WrittenFloat)


def _escaped(name: object) -> str:
    return str(name).replace("~", "~0").replace("/", "~1")


def restore(value: Any, texts: Mapping[str, str]) -> Any:
    """The value with its written numbers. Changes lists and objects in place. Ignores texts that do not fit."""
    for pointer, text in texts.items():
        if not pointer:
            return _restored(value, text)
        owner, *names = value, *(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
        for name in names[:-1]:
            owner = _member(owner, name)
        if isinstance(owner, dict) and names[-1] in owner:
            owner[names[-1]] = _restored(owner[names[-1]], text)
        elif isinstance(owner, list) and _member(owner, names[-1]) is not None:
            owner[int(names[-1])] = _restored(owner[int(names[-1])], text)
    return value


def _member(value: Any, name: str) -> Any:
    if isinstance(value, list):
        return value[int(name)] if name.isdecimal() and int(name) < len(value) else None
    return value.get(name) if isinstance(value, dict) else None


def _restored(value: Any, text: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return written(value, text)
