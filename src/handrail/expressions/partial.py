"""What of an expression is known before it is needed. What is known becomes a constant, the rest stays. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from handrail.expressions.tree import Artifact, Const, Default, Defined, Every, Exists, Expression, Ref, Scope, walk
from handrail.expressions.words import in_words
from handrail.source.values import Unresolved


def _nowhere(subject: object) -> NoReturn:
    raise Unresolved("not-known", f"nothing is known of `{subject}` yet")


@dataclass(frozen=True)
class Foresight:
    """What can be known now: values of the scopes but for references that are `is_later`, and files as they are.

    Without `exists`, files may be others by then.
    """

    values: Mapping[str, Any]
    is_later: Callable[[Ref], bool]
    exists: Callable[[str], bool] | None

    def see(self, expression: Expression) -> Expression:
        """The expression with all that is known put in; a constant if that is all of it. May be `Unresolved`."""
        match expression:
            case Ref():
                return expression if self.is_later(expression) else self._constant(expression)
            case Exists():
                path = self.see(expression.path)
                is_known = isinstance(path, Const) and self.exists is not None
                return self._constant(Exists(path)) if is_known else Exists(path)
            case Every():
                return self._every(expression)
            case Default():
                return self._default(expression)
            case Defined():
                return self._defined(expression)
        seen = expression.rebuild(tuple(map(self.see, expression.parts)))
        return seen if is_open(seen) else self._constant(seen)

    def _constant(self, expression: Expression) -> Const:
        exists = self.exists or _nowhere
        return Const(expression.resolve(Scope(self.values, exists, _nowhere, _nowhere)))

    def _every(self, every: Every) -> Expression:
        """One that does not fit decides, whatever the others turn out to be."""
        left: list[Expression] = []
        for condition in every.conditions:
            try:
                seen = self.see(condition)
            except Unresolved:
                if not left:
                    raise
                seen = condition  # it may never be looked at
            if not isinstance(seen, Const):
                left.append(seen)
            elif bool(seen.value) is not every.wanted:
                return Const(not every.wanted)
        if len(left) > 1:
            return Every(tuple(left), every.wanted)
        return left[0] if left else Const(every.wanted)

    def _default(self, default: Default) -> Expression:
        left: list[Expression] = []
        for number, choice in enumerate(default.choices, 1):
            is_last = number == len(default.choices)
            try:
                seen = self.see(choice)
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
            seen = self.see(defined.value)
        except Unresolved:
            return Const(False)
        return Const(seen.value is not None) if isinstance(seen, Const) else Defined(seen)


def is_open(expression: Expression) -> bool:
    """Is there anything in it that is not known yet?"""
    return any(isinstance(part, Ref | Exists | Artifact) for part in walk(expression))


def waits_for(expression: Expression) -> list[str]:
    """What an expression waits for: steps as `steps.PHASE.STEP`, other references whole, files by their path."""
    found: list[str] = []
    for part in walk(expression):
        if isinstance(part, Ref):
            found.append(".".join(part.names[:3] if part.names[:1] == ["steps"] else part.names))
        elif isinstance(part, Exists) and not is_open(part.path):
            found.append(in_words(part.path))
        elif isinstance(part, Artifact):
            found.append(in_words(part)[2:-1])
    return list(dict.fromkeys(found))
