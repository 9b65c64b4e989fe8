"""Expressions as text for people: `${params.x}`, `v${params.n + 1}`, `${params.mode} = "full"`. Pure.

Computed parts are in one pair of braces. Text is quoted only if it is part of something else.
"""

from __future__ import annotations

from typing import Any

from handrail.driven.expressions.tree import (
    Artifact,
    BoundedList,
    Comparison,
    Const,
    Default,
    Defined,
    Every,
    Exists,
    Expression,
    Items,
    Not,
    Object,
    Ref,
    Template,
    Truth,
)
from handrail.source.templates import fill
from handrail.source.values import Unresolved, as_json, shown

LONGEST = 200
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%"}
_TESTS = {"equals": "=", "differs": "≠", "less": "<", "greater": ">", "atMost": "≤", "atLeast": "≥"}


def in_words(expression: Expression) -> str:
    """An expression as short text: a value as a file would write it, a condition as a sentence."""
    if isinstance(expression, Const):
        return expression.value if isinstance(expression.value, str) else as_json(expression.value)
    if _is_condition(expression):
        return _condition(expression)
    text = _unquoted(expression)
    return _quoted(expression) if text is None else text


def error_with_place(error: Unresolved, expression: Expression, key: str = "") -> Unresolved:
    """The error with its place: the key of the file, and the expression. A reference names itself."""
    if error.is_located:
        return error
    words = "" if isinstance(expression, Ref) else shown(in_words(expression), LONGEST)
    place = ": ".join(part for part in (f"`{key}`" if key else "", words) if part)
    return Unresolved(error.code, f"{error.message}, in {place}" if place else error.message)


def as_data(expression: Expression) -> Any:
    """An expression as plain data: lists, objects and constants stay, everything else becomes text."""
    match expression:
        case Const():
            return expression.value
        case Items("list", items):
            return [as_data(item) for item in items]
        case Object():
            return {name: as_data(value) for name, value in zip(expression.names, expression.values, strict=True)}
    return in_words(expression)


def _is_condition(expression: Expression) -> bool:
    return isinstance(expression, Truth | Not | Every | Comparison | Defined | Exists)


def _unquoted(expression: Expression) -> str | None:
    """Text with references in it, without quotes. None if the expression is not text."""
    match expression:
        case Items("text" | "concat", items):
            return "".join(in_words(item) for item in items)
        case Template():
            words = map(in_words, expression.values)
            return fill(expression.text, dict(zip(expression.names, words, strict=True)))
    return None


def _quoted(expression: Expression) -> str:
    """A value inside a larger expression: text in quotes, computed parts in braces."""
    match expression:
        case Const():
            return as_json(expression.value)
        case Items("list", items):
            return f"[{', '.join(map(_quoted, items))}]"
        case Object():
            members = zip(expression.names, map(_quoted, expression.values), strict=True)
            return "{" + ", ".join(f"{name}: {value}" for name, value in members) + "}"
    if _is_condition(expression):
        return f"({_condition(expression)})"
    text = _unquoted(expression)
    return "${" + _bare(expression) + "}" if text is None else f'"{text}"'


def _bare(expression: Expression) -> str:
    """A value inside braces."""
    match expression:
        case Ref():
            return expression.path
        case BoundedList():
            return _bare(expression.items)
        case Items("length", (whole,)):
            return f"length of {_operand(whole)}"
        case Items("at", (whole, Const(place))):
            return f"{_operand(whole)}.{place}" if isinstance(place, str) else f"{_operand(whole)}[{place}]"
        case Items(rule, items) if rule in _SIGNS:
            return f" {_SIGNS[rule]} ".join(map(_operand, items))
        case Default():
            return " else ".join(map(_operand, expression.choices))
        case Items("appendPrompt", items):
            return " followed by ".join(map(_operand, items))
        case Artifact():
            return _artifact(expression)
    return _quoted(expression)


def _operand(expression: Expression) -> str:
    """An operand inside braces, in brackets if it has operands itself."""
    if isinstance(expression, BoundedList):
        return _operand(expression.items)
    words = _bare(expression)
    is_one = isinstance(expression, Ref | Const | Template | Object) or (
        isinstance(expression, Items) and expression.rule in ("list", "text", "concat", "at")
    )
    return words if is_one else f"({words})"


def _artifact(artifact: Artifact) -> str:
    name = artifact.kind
    if artifact.name is not None:
        named = _operand(artifact.name) if not isinstance(artifact.name, Const) else in_words(artifact.name)
        name = f"{named}.{artifact.extension}"
    key = in_words(artifact.key) if isinstance(artifact.key, Const) else _operand(artifact.key)
    turn = "" if artifact.iteration is None else f", iteration {_operand(artifact.iteration)}"
    return f"{'artifacts' if artifact.is_list else 'artifact'} {name} of {key}{turn}"


def _condition(expression: Expression) -> str:
    match expression:
        case Truth():
            value = expression.value
            return _condition(value) if _is_condition(value) else _quoted(value)
        case Not():
            return f"not {_clause(expression.condition)}"
        case Every():
            joined = (" and " if expression.wanted else " or ").join(map(_clause, expression.conditions))
            return joined or ("true" if expression.wanted else "false")
        case Comparison():
            sign = _TESTS.get(expression.rule, expression.rule)
            return f"{_quoted(expression.left)} {sign} {_quoted(expression.right)}"
        case Defined():
            return f"{_quoted(expression.value)} is defined"
        case Exists():
            return f"{_quoted(expression.path)} exists"
    return _quoted(expression)


def _clause(condition: Expression) -> str:
    """A condition that is part of another, in brackets if it has parts itself."""
    is_one = isinstance(condition, Const) or (isinstance(condition, Truth) and not _is_condition(condition.value))
    return _condition(condition) if is_one else f"({_condition(condition)})"
