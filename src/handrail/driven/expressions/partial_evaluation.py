"""Evaluates expressions before all values are known. Known parts become constants, the others stay. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from handrail.base.dataclasses import dataclass
from handrail.driven.expressions.tree import (
    ABSENT,
    Artifact,
    Comparison,
    Const,
    Default,
    Defined,
    Every,
    Exists,
    Expression,
    ExpressionScope,
    Ref,
    walk,
    with_each,
)
from handrail.driven.expressions.words import in_words
from handrail.source.values import Unresolved


def _raise_unknown(subject: object) -> NoReturn:
    raise Unresolved("not-known", f"`{subject}` is not known yet")


@dataclass(frozen=True)
class PartialEvaluator:
    """Evaluates with the values that are known now. `is_later` tells which references are not known yet.

    `exists` is None if files may change before the expression is used.
    """

    values: Mapping[str, Any]
    is_later: Callable[[Ref], bool]
    exists: Callable[[str], bool] | None

    def evaluate(self, expression: Expression) -> Expression:
        """The expression with known values filled in; a constant if all are known. Raises `Unresolved`."""
        match expression:
            case Ref():
                return expression if self.is_later(expression) else self._constant(expression)
            case Exists():
                path = self.evaluate(expression.path)
                is_known = isinstance(path, Const) and self.exists is not None
                return self._constant(Exists(path)) if is_known else Exists(path)
            case Every():
                return self._every(expression)
            case Default():
                return self._default(expression)
            case Defined():
                return self._defined(expression)
            case Comparison() if expression.is_equality:
                test = with_each(expression, self._side)
                return test if is_open(test) else self._constant(test)
        seen = with_each(expression, self.evaluate)
        return seen if is_open(seen) else self._constant(seen)

    def _side(self, side: Expression) -> Expression:
        """A side of an equality. A field that a step does not have stays `ABSENT`, which is not null."""
        seen = self.evaluate(side)
        is_absent = isinstance(side, Ref) and isinstance(seen, Const) and side.find(self._scope) is ABSENT
        return Const(ABSENT) if is_absent else seen

    def _constant(self, expression: Expression) -> Const:
        return Const(expression.resolve(self._scope))

    @property
    def _scope(self) -> ExpressionScope:
        return ExpressionScope(self.values, self.exists or _raise_unknown, _raise_unknown, _raise_unknown)

    def _every(self, every: Every) -> Expression:
        """One known condition can decide the result, whatever the unknown ones are.

        But not if the run fails at a condition before it.
        """
        left: list[Expression] = []
        may_fail = False
        for condition in every.conditions:
            try:
                seen = self.evaluate(condition)
            except Unresolved:
                if not left:
                    raise
                seen, may_fail = condition, True  # the run may never evaluate it
            if not isinstance(seen, Const):
                left.append(seen)
            elif bool(seen.value) is not every.wanted:
                if may_fail:
                    left.append(seen)
                    break
                return Const(not every.wanted)
        if len(left) > 1:
            return Every(tuple(left), every.wanted)
        return left[0] if left else Const(every.wanted)

    def _default(self, default: Default) -> Expression:
        left: list[Expression] = []
        for number, choice in enumerate(default.choices, 1):
            is_last = number == len(default.choices)
            try:
                seen = self.evaluate(choice)
            except Unresolved:
                if is_last and not left:
                    raise
                seen = choice if is_last else Const(None)
            if is_last or not isinstance(seen, Const) or seen.value is not None:
                left.append(seen)
            if left and isinstance(left[-1], Const):
                break
        return left[0] if len(left) == 1 else Default(tuple(left))

    def _defined(self, defined: Defined) -> Expression:
        try:
            seen = self.evaluate(defined.value)
        except Unresolved:
            return Const(False)
        return Const(seen.value is not None) if isinstance(seen, Const) else Defined(seen)


def is_open(expression: Expression) -> bool:
    """True if a part of the expression is not known yet."""
    return any(isinstance(part, Ref | Exists | Artifact) for part in walk(expression))


def waits_for(expression: Expression) -> list[str]:
    """What an expression depends on: steps as `steps.PHASE.STEP`, other references in full, files by path."""
    found: list[str] = []
    for part in walk(expression):
        if isinstance(part, Ref):
            found.append(".".join(part.names[:3] if part.names[:1] == ["steps"] else part.names))
        elif isinstance(part, Exists) and not is_open(part.path):
            found.append(in_words(part.path))
        elif isinstance(part, Artifact):
            found.append(in_words(part)[2:-1])
    return list(dict.fromkeys(found))
