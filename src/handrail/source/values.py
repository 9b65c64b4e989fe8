"""Values as text, as JSON and as numbers: conversion, comparison, arithmetic. Pure; stricter than JavaScript.

A number keeps the text it was written with: `1.10` counts as 1.1, and is inserted into text as `1.10`. JSON keeps the
value but not the text. So a record keeps the texts beside the value: `texts_in` finds them, `restore` puts them back.
Everything that walks through values is recursive, so `is_too_deep` is called where data enter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from handrail.source.patterns import PatternError


class WrittenInteger(int):
    """A whole number whose text is not the usual one: `007`, `+5`, `0x1f`."""

    text: str

    def __repr__(self) -> str:
        return self.text


class WrittenFloat(float):
    """A number whose text is not the usual one: `1.10`, `2.0`, `1e3`."""

    text: str

    def __repr__(self) -> str:
        return self.text


def written(value: float, text: str) -> float:
    """The number with its text. A plain number if the text is the usual one."""
    if number_text(value) == text:
        return value
    number = WrittenInteger(value) if isinstance(value, int) else WrittenFloat(value)
    number.text = text
    return number


def parse_float(text: str) -> float | str:
    """For `json`: a number that keeps its text. A number that is too large stays text."""
    value = float(text)
    return written(value, text) if math.isfinite(value) else text


def typed_value(text: str) -> Any:
    """What a person typed: as JSON if it is JSON, else as text. A number keeps its text, such as `1.10`."""
    import json

    try:
        value = json.loads(text, parse_constant=lambda name: name, parse_float=parse_float)
    except (ValueError, RecursionError):
        return text
    return _with_text(value, text)


def json_value(text: str | bytes) -> Any:
    """The value of a JSON text. None if it is not JSON, or nested too deeply."""
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


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
    texts: dict[str, str] = {}
    waiting = [("", value)]
    while waiting:
        pointer, part = waiting.pop()
        if isinstance(part, _WRITTEN):
            texts[pointer] = part.text
        elif isinstance(part, dict):
            waiting += [(f"{pointer}/{_escaped(name)}", inner) for name, inner in part.items() if _may_hold(inner)]
        elif isinstance(part, list):
            waiting += [(f"{pointer}/{place}", inner) for place, inner in enumerate(part) if _may_hold(inner)]
    return texts


_CONTAINERS = (dict, list)
_WRITTEN = (WrittenInteger, WrittenFloat)
_MAY_HOLD = (*_CONTAINERS, *_WRITTEN)


def _may_hold(value: Any) -> bool:
    return isinstance(value, _MAY_HOLD)


def _escaped(name: object) -> str:
    return str(name).replace("~", "~0").replace("/", "~1")


def restore(value: Any, texts: Mapping[str, str]) -> Any:
    """The value with its written numbers. Changes lists and objects in place. Ignores texts that do not fit."""
    for pointer, text in texts.items():
        if not pointer:
            return _with_text(value, text)
        owner, *names = value, *(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
        for name in names[:-1]:
            owner = _member(owner, name)
        if isinstance(owner, dict) and names[-1] in owner:
            owner[names[-1]] = _with_text(owner[names[-1]], text)
        elif isinstance(owner, list) and _member(owner, names[-1]) is not None:
            owner[int(names[-1])] = _with_text(owner[int(names[-1])], text)
    return value


def _member(value: Any, name: str) -> Any:
    if isinstance(value, list):
        return value[int(name)] if name.isdecimal() and int(name) < len(value) else None
    return value.get(name) if isinstance(value, dict) else None


def _with_text(value: Any, text: str) -> Any:
    """A number with its text. Any other value stays as it is."""
    return written(value, text) if _is_number(value) else value


DURATION_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
DURATION_PATTERN = r"\s*([0-9]{1,9})([smhdw])\s*"
DURATION_EXAMPLE = "a number and a unit, such as `30d`, `12h` or `2w`"


def parse_duration(text: str) -> float | None:
    """The seconds of a span of time; None if the text is not one. A number without a unit is not one."""
    match = re.fullmatch(DURATION_PATTERN, text)
    return None if match is None else float(int(match[1]) * DURATION_UNITS[match[2]])


MAX_NESTING = 100


def is_too_deep(value: Any) -> bool:
    """True if lists and objects are nested deeper than `MAX_NESTING`. Not recursive itself."""
    level = [value]
    for _ in range(MAX_NESTING + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, _CONTAINERS)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, _CONTAINERS)
        ]
        if not level:
            return False
    return True


_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
SHOWN = 40
NO_LIST_IS_LONGER = 10**10
MISSING = object()
"""No member has this name."""


class Unresolved(Exception):
    """An expression cannot be evaluated. `code` is stable; the message names the part and the reason.

    `is_located`: the message also names the place.
    """

    def __init__(self, code: str, message: str, *, is_located: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.is_located = is_located


def as_text(value: Any) -> str:
    """The value as text: a number as it was written, a list or an object as JSON, null as `null`."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | Mapping):
        return as_json(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value) if isinstance(value, int | float) else str(value)


def as_joined_text(value: Any) -> str:
    """The same, but the items of a list are joined with commas: in AgentWeaver's forms."""
    if not isinstance(value, list):
        return as_text(value)
    return ",".join("" if item is None else as_joined_text(item) for item in value)


def as_json(value: Any, *, is_indented: bool = False) -> str:
    """The value as JSON, on one line unless it is indented. A number keeps the text it was written with, if it may."""
    try:
        return "".join(_json_pieces(value, "\n" if is_indented else ""))
    except RecursionError:
        raise Unresolved("too-deep", "a value is nested too deeply to be written as text") from None


def _json_pieces(value: Any, line: str) -> Iterator[str]:
    """The pieces of a JSON text. `line` is a line end and the indentation, or an empty text for a single line."""
    inner = f"{line}  " if line else ""
    comma = f",{inner}" if line else ", "
    if isinstance(value, list):
        for place, item in enumerate(value):
            yield comma if place else f"[{inner}"
            yield from _json_pieces(item, inner)
        yield f"{line}]" if value else "[]"
    elif isinstance(value, Mapping):
        for place, (name, item) in enumerate(value.items()):
            yield f"{comma if place else '{' + inner}{_quote(str(name))}: "
            yield from _json_pieces(item, inner)
        yield f"{line}}}" if value else "{}"
    elif isinstance(value, WrittenInteger | WrittenFloat) and not _JSON_NUMBER.fullmatch(value.text):
        yield number_text(int(value) if isinstance(value, int) else float(value))
    elif isinstance(value, float) and not math.isfinite(value):
        yield "null"
    else:
        yield _quote(value) if isinstance(value, str) else as_text(value)


def _quote(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False)


def shown(value: Any, most: int = SHOWN) -> str:
    """The value as text for a message. Text that is too long is cut, and ends with `…`."""
    text = as_text(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def index_of(name: str) -> int | None:
    """The place of an item in a list: `0`, `1`, `12`. None for any other text, also for `01`."""
    if not (name.isascii() and name.isdigit()) or (name[0] == "0" and name != "0"):
        return None
    return int(name) if len(name) < 10 else NO_LIST_IS_LONGER


def member(whole: Any, name: str) -> Any:
    """The member of an object, or the item of a list: by its place, else by its `id`. `MISSING` if there is none."""
    if isinstance(whole, Mapping):
        return whole.get(name, MISSING)
    if not isinstance(whole, list):
        return MISSING
    if (index := index_of(name)) is not None:
        return whole[index] if index < len(whole) else MISSING
    return next((item for item in whole if isinstance(item, Mapping) and item.get("id") == name), MISSING)


def member_at(whole: Any, path: list[str], place: int) -> Any:
    """The member that a path names at this place. Raises `Unresolved`, which says what is there instead."""
    value = member(whole, path[place])
    if value is MISSING:
        context = f"; `{'.'.join(path[:place])}` {contents(whole)}" if place else ""
        raise Unresolved("ref-unresolvable", f"`{'.'.join(path)}`: there is no `{path[place]}`{context}")
    return value


def contents(value: Any, most: int = 8) -> str:
    """What a value has that a reference can name, after its name: `has: a, b`."""
    ids = [item.get("id") if isinstance(item, Mapping) else None for item in value] if isinstance(value, list) else []
    if isinstance(value, list) and not (ids and all(isinstance(id_, str) for id_ in ids)):
        return f"has {len(value)} item{'' if len(value) == 1 else 's'}, counted from 0"
    names = [str(name) for name in value] if isinstance(value, Mapping) else ids
    if not names:
        return "is empty" if isinstance(value, Mapping) else "has no members"
    return f"has: {', '.join(shown(name) for name in names[:most])}{', …' if len(names) > most else ''}"


def is_true(value: Any) -> bool:
    if isinstance(value, float) and math.isnan(value):
        return False
    return not (value is None or value is False or value == "" or (_is_number(value) and value == 0))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def number(value: Any) -> float:
    """The value as a number, by the rules of AgentWeaver. Raises `Unresolved` for text that is not a number."""
    if value is None:
        return 0
    if isinstance(value, bool | int | float):
        return int(value) if isinstance(value, bool) else value
    if not isinstance(value, str):
        raise Unresolved("not-a-number", f"{shown(value)} is not a number")
    text = value.strip()
    if not text:
        return 0
    result = float(text) if len(text) < 400 and _NUMBER.fullmatch(text) else math.inf
    if not math.isfinite(result):
        raise Unresolved("not-a-number", f"`{shown(value)}` is not a number")
    return int(result) if result.is_integer() else result


def same(left: Any, right: Any) -> bool:
    """True if type and value are equal, also inside lists and objects. 3 equals 3.0, but not "3"; false is not 0."""
    if _is_number(left) and _is_number(right):
        return bool(left == right)
    if type(left) is not type(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(value, right[name]) for name, value in left.items())
    return bool(left == right)


def _is_less(left: Any, right: Any) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return left < right
    return number(left) < number(right)


def _contains(whole: Any, part: Any) -> bool:
    if isinstance(whole, str):
        return as_text(part) in whole
    if isinstance(whole, Mapping):
        return isinstance(part, str) and part in whole
    if isinstance(whole, list):
        return any(same(item, part) for item in whole)
    message = f"{shown(whole)} is not a text, a list or an object, so it cannot contain a value"
    raise Unresolved("contains-needs-list", message)


PATTERN_HINT = "a pattern has no look-around and no back-references; escape special characters with `\\`"


def _matches(text: Any, pattern: Any) -> bool:
    from handrail.source.patterns import PatternError, TooMuchWork, contains_match

    try:
        return contains_match(as_text(pattern), as_text(text))
    except PatternError as error:
        raise _no_pattern(pattern, error) from error
    except TooMuchWork as error:
        raise Unresolved("pattern", f"`{shown(pattern, 60)}` cannot be searched for: {error}") from error


def refuse_pattern(pattern: Any) -> None:
    """Raise `Unresolved` if a value is not a pattern that can be searched for in bounded time."""
    from handrail.source.patterns import check_pattern

    if (wrong := check_pattern(as_text(pattern))) is not None:
        raise _no_pattern(pattern, wrong)


def _no_pattern(pattern: Any, wrong: PatternError) -> Unresolved:
    problem = f"at character {wrong.at + 1}: {wrong.message}"
    return Unresolved("pattern", f"`{shown(pattern, 60)}` is not a pattern, {problem}")


def _on_numbers(rule: Callable[[list[float]], float]) -> Callable[[list[Any]], float]:
    """The operation on the numbers of values. A number that JSON or a float cannot hold is an error."""

    def count(values: list[Any]) -> float:
        numbers = [number(value) for value in values]
        try:
            if not all(map(math.isfinite, numbers)) or not math.isfinite(result := rule(numbers)):
                raise OverflowError
            return int(result) if float(result).is_integer() else result
        except OverflowError:
            raise Unresolved("not-a-number", "the number is too large to count with") from None
        except ZeroDivisionError:
            raise Unresolved("not-a-number", "division by zero") from None

    return count


def _product(numbers: list[float]) -> float:
    """The product. Each partial product has to be a number that a float can hold, so that it stays small."""
    product: float = 1
    for factor in numbers:
        product *= factor
        math.isfinite(product)  # raises `OverflowError` for a whole number that is too large
    return product


OPERATIONS: dict[str, Callable[[list[Any]], Any]] = {
    "list": lambda values: values,
    "text": lambda values: "".join(as_text(value) for value in values if value is not None),
    "concat": lambda values: "".join(as_joined_text(value) for value in values if value is not None),
    "appendPrompt": lambda values: "\n".join(
        text for value in values if value is not None and (text := as_joined_text(value).strip())
    ),
    "add": _on_numbers(sum),
    "sub": _on_numbers(lambda numbers: numbers[0] - numbers[1]),
    "mul": _on_numbers(_product),
    "div": _on_numbers(lambda numbers: numbers[0] / numbers[1]),
    "mod": _on_numbers(lambda numbers: numbers[0] % numbers[1]),
    "length": lambda values: _length(values[0]),
    "at": lambda values: _at(*values),
    "truth": lambda values: is_true(values[0]),
    "not": lambda values: not values[0],
}


def _length(value: Any) -> int:
    if isinstance(value, str | list | Mapping):
        return len(value)
    raise Unresolved("not-a-list", f"{shown(value)} has no length")


def _at(whole: Any, place: Any) -> Any:
    """The item of a list or the member of an object. None if the list is shorter, or if `whole` is None."""
    is_text = isinstance(place, str)
    value = member(whole, str(place)) if is_text or isinstance(whole, list) else MISSING
    if value is not MISSING:
        return value
    if whole is None or (isinstance(whole, list) and index_of(str(place)) is not None):
        return None
    if is_text:
        raise Unresolved("ref-unresolvable", f"there is no `{shown(place)}` in {shown(whole)}")
    raise Unresolved("not-a-list", f"{shown(whole)} is not a list")


TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "equals": same,
    "differs": lambda left, right: not same(left, right),
    "less": _is_less,
    "greater": lambda left, right: _is_less(right, left),
    "atMost": lambda left, right: not _is_less(right, left),
    "atLeast": lambda left, right: not _is_less(left, right),
    "contains": _contains,
    "in": lambda part, whole_: _contains(whole_, part),
    "matches": _matches,
}
