"""Operations on values of expressions: conversion, comparison, arithmetic. Pure; stricter than JavaScript."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handrail.source.patternsyntax import PatternError


class Unresolved(Exception):
    """An expression cannot be evaluated. `code` is stable; the message names the part and the reason."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def as_text(value: Any) -> str:
    """The value as text: a list with commas, an object as JSON, null as `null`."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    if isinstance(value, list):
        return ",".join("" if item is None else as_text(item) for item in value)
    if isinstance(value, Mapping):
        import json

        return json.dumps(value, ensure_ascii=False)
    return str(value)


def is_true(value: Any) -> bool:
    if isinstance(value, float) and math.isnan(value):
        return False
    return not (value is None or value is False or value == "" or (_is_number(value) and value == 0))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def number(value: Any) -> float:
    """The value as a number, by the rules of AgentWeaver. Raises `Unresolved` for text that is not a number."""
    if value is None or value == "":
        return 0
    if isinstance(value, bool | int | float):
        return int(value) if isinstance(value, bool) else value
    if isinstance(value, str):
        try:
            found = float(value.strip() or "0")
        except ValueError:
            raise Unresolved("not-a-number", f"`{value[:40]}` is not a number") from None
        return int(found) if found.is_integer() else found
    raise Unresolved("not-a-number", f"{as_text(value)[:40]} is not a number")


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


def _less(left: Any, right: Any) -> bool:
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
    raise Unresolved(
        "contains-needs-list", f"{as_text(whole)} is not a text, a list or an object, so it cannot contain a value"
    )


PATTERN_HINT = "a pattern has no look-around and no back-references; escape special characters with `\\`"


def _matches(text: Any, pattern: Any) -> bool:
    from handrail.source.patterns import TooMuchWork, contains_match
    from handrail.source.patternsyntax import PatternError

    try:
        return contains_match(as_text(pattern), as_text(text))
    except PatternError as error:
        raise _no_pattern(pattern, error) from error
    except TooMuchWork as error:
        raise Unresolved("pattern", f"`{_short(as_text(pattern))}` cannot be searched for: {error}") from error


def refuse_pattern(pattern: Any) -> None:
    """Raise `Unresolved` if a value is not a pattern that can be searched for in bounded time."""
    from handrail.source.patterns import check_pattern

    wrong = check_pattern(as_text(pattern))
    if wrong is not None:
        raise _no_pattern(pattern, wrong)


def _no_pattern(pattern: Any, wrong: PatternError) -> Unresolved:
    where = f"at character {wrong.at + 1}: {wrong.message}"
    return Unresolved("pattern", f"`{_short(as_text(pattern))}` is not a pattern, {where}")


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


def _divide(numbers: list[float]) -> float:
    if numbers[1] == 0:
        raise Unresolved("not-a-number", "division by zero")
    return numbers[0] / numbers[1]


def _int_if_whole(value: float) -> float:
    return int(value) if float(value).is_integer() else value


def _counted(rule: Callable[[list[float]], float]) -> Callable[[list[Any]], float]:
    """The operation on the numbers of values. A number that JSON or a float cannot hold is an error."""

    def count(values: list[Any]) -> float:
        numbers = [number(value) for value in values]
        try:
            if not all(map(math.isfinite, numbers)) or not math.isfinite(found := rule(numbers)):
                raise OverflowError
            return _int_if_whole(found)
        except OverflowError:
            raise Unresolved("not-a-number", "the number is too large to count with") from None

    return count


def _product(numbers: list[float]) -> float:
    """The product. Each partial product has to be a number that a float can hold, so that it stays small."""
    found: float = 1
    for factor in numbers:
        found *= factor
        math.isfinite(found)  # raises `OverflowError` for a whole number that is too large
    return found


def _modulo(numbers: list[float]) -> float:
    if numbers[1] == 0:
        raise Unresolved("not-a-number", "division by zero")
    return numbers[0] % numbers[1]


OPERATIONS: dict[str, Callable[[list[Any]], Any]] = {
    "list": lambda values: values,
    "concat": lambda values: "".join(as_text(value) for value in values if value is not None),
    "add": _counted(sum),
    "sub": _counted(lambda numbers: numbers[0] - numbers[1]),
    "mul": _counted(_product),
    "div": _counted(_divide),
    "mod": _counted(_modulo),
    "length": lambda values: _length(values[0]),
    "at": lambda values: _at(*values),
}


def _length(value: Any) -> int:
    if isinstance(value, str | list | Mapping):
        return len(value)
    raise Unresolved("not-a-list", f"{as_text(value)} has no length")


def _at(whole: Any, place: Any) -> Any:
    """The item of a list or the member of an object. None if the list is shorter, or if `whole` is None."""
    if isinstance(whole, list) and str(place).isdecimal():
        return whole[int(place)] if len(str(place)) < 10 and int(place) < len(whole) else None
    if isinstance(whole, Mapping) and isinstance(place, str) and place in whole:
        return whole[place]
    if whole is None:
        return None
    if isinstance(place, str):
        raise Unresolved("ref-unresolvable", f"there is no `{place}` in {as_text(whole)[:40]}")
    raise Unresolved("not-a-list", f"{as_text(whole)[:40]} is not a list")


TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "equals": same,
    "differs": lambda left, right: not same(left, right),
    "less": _less,
    "greater": lambda left, right: _less(right, left),
    "atMost": lambda left, right: not _less(right, left),
    "atLeast": lambda left, right: not _less(left, right),
    "contains": _contains,
    "in": lambda part, whole_: _contains(whole_, part),
    "matches": _matches,
}
