"""Value and condition expressions of flows: how they are evaluated, also before all values are known. Pure.

An expression is data. It asks the scope that it is resolved in for files and artifacts. For people, it is written as
text: `${params.x}`, `v${params.n + 1}`, `${params.mode} = "full"`. Computed parts are in one pair of braces there, and
text is quoted only if it is part of something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, Protocol

from handrail.base.dataclasses import dataclass, field, replace
from handrail.driven.artifacts.names import ArtifactRequest, name_text, whole_iteration
from handrail.source.templates import fill
from handrail.source.values import OPERATIONS, TESTS, Unresolved, as_joined_text, as_json, member_at, shown

SCOPES = {
    "params": "`params.NAME`: a parameter of the flow",
    "flow": "`flow.NAME`: a constant of the flow, from its `constants`",
    "context": "`context.NAME`: a fact about the run, see [below](#context)",
    "repeat": "`repeat.NAME`: the number or the item of the round, in a `repeat`",
    "steps": "`steps.PHASE.STEP.outputs.NAME`: an output of a finished step; also `.value` and `.status`",
}


@dataclass(frozen=True)
class ExpressionScope:
    """Everything that an expression may read. `refuse` is called with every value that a reference finds."""

    values: Mapping[str, Any]
    exists: Callable[[str], bool]
    artifact: Callable[[ArtifactRequest], str]
    artifact_list: Callable[[ArtifactRequest], list[str]]
    refuse: Callable[[Any], None] | None = None


class Expression(Protocol):
    """A value or a condition. `_INNER` names the fields that hold other expressions."""

    def resolve(self, scope: ExpressionScope) -> Any: ...


@dataclass(frozen=True)
class Const:
    value: Any

    def resolve(self, scope: ExpressionScope) -> Any:
        del scope
        return self.value


@dataclass(frozen=True)
class Ref:
    """A dotted path into a scope. It resolves to None if it ends at a field that a step does not have."""

    path: str

    @property
    def names(self) -> list[str]:
        return [name for name in self.path.split(".") if name]

    def resolve(self, scope: ExpressionScope) -> Any:
        value = self.find(scope)
        return None if value is ABSENT else value

    def find(self, scope: ExpressionScope) -> Any:
        """The same, but `ABSENT` for a field that a step does not have."""
        names = self.names
        if not names or names[0] not in SCOPES:
            raise Unresolved("ref-scope-unknown", f"`{self.path}` does not begin with one of {', '.join(SCOPES)}")
        value: Any = scope.values
        for place in range(len(names)):
            value = member_at(value, names, place)
            if value is ABSENT and place + 1 < len(names):
                raise Unresolved("ref-unresolvable", f"`{self.path}`: `{'.'.join(names[: place + 1])}` has no value")
        if scope.refuse is not None:
            scope.refuse(value)
        return value


ABSENT = object()
"""A field that this step does not have: its result is not an object, or it was skipped."""


@dataclass(frozen=True)
class Items:
    """Expressions whose values a rule makes into one: a list, a text, a number, or whether a condition holds."""

    rule: str
    items: tuple[Expression, ...]

    def resolve(self, scope: ExpressionScope) -> Any:
        return OPERATIONS[self.rule]([item.resolve(scope) for item in self.items])


@dataclass(frozen=True)
class BoundedList:
    """A list with at most `most` items. It cannot be resolved if it has more. `place` is where the file says so."""

    items: Expression
    most: int
    place: str = field(compare=False, repr=False)

    def resolve(self, scope: ExpressionScope) -> Any:
        items = self.items.resolve(scope)
        if isinstance(items, list) and len(items) > self.most:
            message = f"{self.place}: the list has {len(items)} items, but the repeat has at most {self.most} rounds"
            raise Unresolved("repeat-exhausted", f"{message} (`onExhausted: continue` allows this)", is_located=True)
        return items


@dataclass(frozen=True)
class Template:
    """Text with `{name}` placeholders, rendered in one pass."""

    text: str
    names: tuple[str, ...]
    values: tuple[Expression, ...]

    def resolve(self, scope: ExpressionScope) -> str:
        values = [as_joined_text(value.resolve(scope)) for value in self.values]
        return fill(self.text, dict(zip(self.names, values, strict=True)))


@dataclass(frozen=True)
class Object:
    """A mapping of names to expressions."""

    names: tuple[str, ...]
    values: tuple[Expression, ...]

    def resolve(self, scope: ExpressionScope) -> dict[str, Any]:
        return {name: value.resolve(scope) for name, value in zip(self.names, self.values, strict=True)}


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """The path of an artifact: AgentWeaver's by its kind, or Handrail's by its name.

    `key` is the key of its task, or its scope. Without an iteration, it is the newest one.
    """

    key: Expression
    kind: str | None = None
    name: Expression | None = None
    extension: str = "md"
    iteration: Expression | None = None
    is_list: bool = False

    def resolve(self, scope: ExpressionScope) -> Any:
        key = name_text(self.key.resolve(scope), "key" if self.kind else "scope")
        name = None if self.name is None else name_text(self.name.resolve(scope), "name")
        iteration = None if self.iteration is None else whole_iteration(self.iteration.resolve(scope))
        request = ArtifactRequest(key, self.kind, name, self.extension, iteration)
        return scope.artifact_list(request) if self.is_list else scope.artifact(request)


@dataclass(frozen=True)
class Default:
    """The value of the first expression that resolves and is not null."""

    choices: tuple[Expression, ...]

    def resolve(self, scope: ExpressionScope) -> Any:
        for choice in self.choices[:-1]:
            try:
                value = choice.resolve(scope)
            except Unresolved:
                continue
            if value is not None:
                return value
        return self.choices[-1].resolve(scope)


@dataclass(frozen=True)
class Every:
    """`all` (`is_all` is true) or `any` (false). Stops at the first condition that decides."""

    conditions: tuple[Expression, ...]
    is_all: bool

    def resolve(self, scope: ExpressionScope) -> bool:
        for condition in self.conditions:
            if bool(condition.resolve(scope)) is not self.is_all:
                return not self.is_all
        return self.is_all


@dataclass(frozen=True)
class Comparison:
    rule: str
    left: Expression
    right: Expression

    def resolve(self, scope: ExpressionScope) -> bool:
        return TESTS[self.rule](self._side(self.left, scope), self._side(self.right, scope))

    def _side(self, side: Expression, scope: ExpressionScope) -> Any:
        """The value of a side. For equality, a field that a step does not have is not the same as null."""
        return side.find(scope) if isinstance(side, Ref) and self.is_equality else side.resolve(scope)

    @property
    def is_equality(self) -> bool:
        return self.rule in ("equals", "differs")


@dataclass(frozen=True)
class Defined:
    """True if an expression resolves to a value other than null."""

    value: Expression

    def resolve(self, scope: ExpressionScope) -> bool:
        try:
            return self.value.resolve(scope) is not None
        except Unresolved:
            return False


@dataclass(frozen=True)
class Exists:
    """True if there is a file or folder at this path."""

    path: Expression

    def resolve(self, scope: ExpressionScope) -> bool:
        path = self.path.resolve(scope)
        if not isinstance(path, str):
            raise Unresolved("exists-needs-text", f"`exists` needs a path, found {shown(path)}")
        return path != "" and scope.exists(path)


_INNER: dict[type, tuple[str, ...]] = {
    Items: ("items",),
    BoundedList: ("items",),
    Template: ("values",),
    Object: ("values",),
    Artifact: ("key", "name", "iteration"),
    Default: ("choices",),
    Every: ("conditions",),
    Comparison: ("left", "right"),
    Defined: ("value",),
    Exists: ("path",),
}


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything inside it, outermost first."""
    yield expression
    for name in _INNER.get(type(expression), ()):
        inner = getattr(expression, name)
        for part in inner if isinstance(inner, tuple) else (inner,):
            if part is not None:
                yield from walk(part)


def with_each(expression: Any, change: Callable[[Expression], Expression]) -> Expression:
    parts: dict[str, Any] = {}
    for name in _INNER.get(type(expression), ()):
        if (inner := getattr(expression, name)) is not None:
            parts[name] = tuple(map(change, inner)) if isinstance(inner, tuple) else change(inner)
    whole: Expression = replace(expression, **parts)
    return whole


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
                try:
                    result = self.evaluate(expression.value)
                except Unresolved:
                    return Const(False)
                return Const(result.value is not None) if isinstance(result, Const) else Defined(result)
            case Comparison() if expression.is_equality:
                test = with_each(expression, self._side)
                return test if is_open(test) else self._constant(test)
        result = with_each(expression, self.evaluate)
        return result if is_open(result) else self._constant(result)

    def _side(self, side: Expression) -> Expression:
        """A side of an equality. A field that a step does not have stays `ABSENT`, which is not null."""
        result = self.evaluate(side)
        is_absent = isinstance(side, Ref) and isinstance(result, Const) and side.find(self._scope) is ABSENT
        return Const(ABSENT) if is_absent else result

    def _constant(self, expression: Expression) -> Const:
        return Const(expression.resolve(self._scope))

    @property
    def _scope(self) -> ExpressionScope:
        return ExpressionScope(self.values, self.exists or _raise_unknown, _raise_unknown, _raise_unknown)

    def _every(self, every: Every) -> Expression:
        """One known condition can decide the result, whatever the unknown ones are.

        But not if the run fails at a condition before it.
        """
        rest: list[Expression] = []
        may_fail = False
        for condition in every.conditions:
            try:
                result = self.evaluate(condition)
            except Unresolved:
                if not rest:
                    raise
                result, may_fail = condition, True  # the run may never evaluate it
            if not isinstance(result, Const):
                rest.append(result)
            elif bool(result.value) is not every.is_all:
                if may_fail:
                    rest.append(result)
                    break
                return Const(not every.is_all)
        if len(rest) > 1:
            return Every(tuple(rest), every.is_all)
        return rest[0] if rest else Const(every.is_all)

    def _default(self, default: Default) -> Expression:
        rest: list[Expression] = []
        for number, choice in enumerate(default.choices, 1):
            is_last = number == len(default.choices)
            try:
                result = self.evaluate(choice)
            except Unresolved:
                if is_last and not rest:
                    raise
                result = choice if is_last else Const(None)
            if is_last or not isinstance(result, Const) or result.value is not None:
                rest.append(result)
            if rest and isinstance(rest[-1], Const):
                break
        return rest[0] if len(rest) == 1 else Default(tuple(rest))


def is_open(expression: Expression) -> bool:
    return any(isinstance(part, Ref | Exists | Artifact) for part in walk(expression))


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
    if isinstance(expression, Items):
        return expression.rule in ("truth", "not")
    return isinstance(expression, Every | Comparison | Defined | Exists)


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
        name_words = _operand(artifact.name) if not isinstance(artifact.name, Const) else in_words(artifact.name)
        name = f"{name_words}.{artifact.extension}"
    key = in_words(artifact.key) if isinstance(artifact.key, Const) else _operand(artifact.key)
    turn = "" if artifact.iteration is None else f", iteration {_operand(artifact.iteration)}"
    return f"{'artifacts' if artifact.is_list else 'artifact'} {name} of {key}{turn}"


def _condition(expression: Expression) -> str:
    match expression:
        case Items("truth", (value,)):
            return _condition(value) if _is_condition(value) else _quoted(value)
        case Items("not", (condition,)):
            return f"not {_clause(condition)}"
        case Every():
            words = (" and " if expression.is_all else " or ").join(map(_clause, expression.conditions))
            return words or ("true" if expression.is_all else "false")
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
    is_truth = isinstance(condition, Items) and condition.rule == "truth" and not _is_condition(condition.items[0])
    is_one = is_truth or isinstance(condition, Const)
    return _condition(condition) if is_one else f"({_condition(condition)})"
