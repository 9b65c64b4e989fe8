"""Value and condition expressions of flows, and how they are evaluated, also before all values are known. Pure.

An expression is data. It asks the scope that it is resolved in for files and artifacts. The reference page of values is
made from the tables of forms and scopes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn, Protocol

from handrail.base.dataclasses import dataclass, field, replace
from handrail.driven.artifacts.names import ArtifactRequest, name_text, whole_iteration
from handrail.source.templates import fill
from handrail.source.values import OPERATIONS, TESTS, Unresolved, as_joined_text, is_true, member_at, shown


class ExpressionForm(NamedTuple):
    """A form: what it is, and an example that contains nothing else. The example is YAML."""

    about: str
    example: str


SCOPES = {
    "params": "`params.NAME`: a parameter of the flow",
    "flow": "`flow.NAME`: a constant of the flow, from its `constants`",
    "context": "`context.NAME`: a fact about the run, see [below](#context)",
    "repeat": "`repeat.NAME`: the number or the item of the round, in a `repeat`",
    "steps": "`steps.PHASE.STEP.outputs.NAME`: an output of a finished step; also `.value` and `.status`",
}
_AGENTWEAVER = {
    "const": ExpressionForm("the value as it is written, without references and forms", "{const: {add: '${x}'}}"),
    "ref": ExpressionForm("a reference; the same as `${...}` alone", "{ref: params.files.0}"),
    "artifact": ExpressionForm(
        "the path of a published file, by `name`; `extension` is `md` unless given, `scope` that of the run, "
        "`iteration` the newest. AgentWeaver's artifacts have `kind` and `taskKey` instead",
        "{artifact: {name: notes}}",
    ),
    "artifactList": ExpressionForm(
        "the paths of a list of AgentWeaver's artifacts, by `kind` and `taskKey`",
        "{artifactList: {kind: plan-artifacts, taskKey: T-1}}",
    ),
    "template": ExpressionForm(
        "text with `{NAME}` in it, and the values in `vars` beside it; a list is joined with commas",
        "{template: 'See {files}', vars: {files: '${params.files}'}}",
    ),
    "appendPrompt": ExpressionForm(
        "`suffix` below `base`, both trimmed; `base` is optional",
        "{appendPrompt: {base: 'Review it.', suffix: '${params.title}'}}",
    ),
    "add": ExpressionForm("the sum of numbers", "{add: ['${params.count}', 1]}"),
    "concat": ExpressionForm("texts put together; a list is joined with commas", "{concat: [v, '${params.count}']}"),
    "list": ExpressionForm("a list; the same as a plain list", "{list: ['${params.title}', 1]}"),
}
_HANDRAIL = {
    "default": ExpressionForm("the first value that is there and is not null", "{default: ['${params.none}', 3]}"),
    "object": ExpressionForm(
        "an object; needed only if it has a single key, or a key that is the name of a form",
        "{object: {title: '${params.title}'}}",
    ),
    "sub": ExpressionForm("the first number minus the second", "{sub: ['${params.count}', 1]}"),
    "mul": ExpressionForm("the product of numbers", "{mul: ['${params.count}', 2]}"),
    "div": ExpressionForm("the first number divided by the second", "{div: ['${params.count}', 2]}"),
    "mod": ExpressionForm("the remainder of the first number divided by the second", "{mod: ['${params.count}', 2]}"),
    "length": ExpressionForm("the length of a text, a list or an object", "{length: '${params.files}'}"),
}
VALUES = _AGENTWEAVER | _HANDRAIL
CONDITIONS = {
    "ref": ExpressionForm(
        "the value is not 0, empty text, null or false; the same as `${...}` alone. "
        "Empty lists and objects count as true",
        "{ref: params.title}",
    ),
    "not": ExpressionForm("the condition does not hold", "{not: '${params.none}'}"),
    "all": ExpressionForm(
        "all of these conditions hold; those after the first that does not are not looked at",
        "{all: ['${params.title}', '${params.none}']}",
    ),
    "any": ExpressionForm("at least one of these conditions holds", "{any: ['${params.title}', '${params.none}']}"),
    "equals": ExpressionForm(
        "type and value are the same: 3 equals 3.0, but not the text `3`", "{equals: ['${params.count}', 3]}"
    ),
    "exists": ExpressionForm("there is a file or a folder with this path", "{exists: NOTES.md}"),
    "const": ExpressionForm("the value itself is true, as with `ref`", "{const: false}"),
    "defined": ExpressionForm("the value is there and is not null", "{defined: '${params.none}'}"),
    "differs": ExpressionForm("the opposite of `equals`", "{differs: ['${params.count}', '3']}"),
    "less": ExpressionForm(
        "the first is less than the second: numbers, or two texts", "{less: ['${params.count}', 3]}"
    ),
    "greater": ExpressionForm("the first is greater than the second", "{greater: ['${params.count}', 2]}"),
    "atMost": ExpressionForm("the first is less than the second, or the same", "{atMost: ['${params.count}', 3]}"),
    "atLeast": ExpressionForm("the first is greater than the second, or the same", "{atLeast: ['${params.count}', 4]}"),
    "contains": ExpressionForm(
        "a list contains an item, a text a part, or an object a name", "{contains: ['${params.files}', a.md]}"
    ),
    "in": ExpressionForm("the same, with the part first", "{in: [a.md, '${params.files}']}"),
    "matches": ExpressionForm(
        "a text contains a match of a regular expression, without look-around and back-references",
        "{matches: ['${params.title}', '^S.y']}",
    ),
}
PAIRS = ("equals", "differs", "less", "greater", "atMost", "atLeast", "contains", "in", "matches")
ARITHMETIC = {"add": None, "mul": None, "concat": None, "list": None, "sub": 2, "div": 2, "mod": 2}
VALUE_FORMS = tuple(VALUES)
CONDITION_FORMS = tuple(CONDITIONS)


def form_of(keys: Collection[str]) -> str | None:
    """The form of a mapping: the first AgentWeaver form among its keys, else a Handrail form if it is the only key."""
    named = [key for key in keys if not key.startswith("_")]
    found = (form for form in _AGENTWEAVER if form in keys)
    return next(found, None) or next((form for form in _HANDRAIL if named == [form]), None)


_COMPARISON = re.compile(r"\s*(\$\{[^{}]*\})\s*(===?|!==?|<=|>=|<|>)\s*(\S.*?)\s*")


def condition_hint(text: str) -> str:
    """How to write a condition that is more than one reference, such as `${params.n} == 3`."""
    found = _COMPARISON.fullmatch(text)
    if found is None:
        return "write `${...}` alone, or a form such as `equals: [A, B]`"
    left, sign, right = found.groups()
    right = f'"{right}"' if right.startswith("${") else right
    form = "equals" if "==" in sign or sign == "!=" else "less" if sign[0] == "<" else "greater"
    test = f'{{{form}: ["{left}", {right}]}}'
    if sign in ("<=", ">="):
        test = f'{{{"greater" if form == "less" else "less"}: ["{left}", {right}]}}'
    return f"write `{{not: {test}}}`" if sign in ("!=", "!==", "<=", ">=") else f"write `{test}`"


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
        found = self.find(scope)
        return None if found is ABSENT else found

    def find(self, scope: ExpressionScope) -> Any:
        """The same, but `ABSENT` for a field that a step does not have."""
        names = self.names
        if not names or names[0] not in SCOPES:
            raise Unresolved("ref-scope-unknown", f"`{self.path}` does not begin with one of {', '.join(SCOPES)}")
        found: Any = scope.values
        for place in range(len(names)):
            found = member_at(found, names, place)
            if found is ABSENT and place + 1 < len(names):
                raise Unresolved("ref-unresolvable", f"`{self.path}`: `{'.'.join(names[: place + 1])}` has no value")
        if scope.refuse is not None:
            scope.refuse(found)
        return found


ABSENT = object()
"""A field that this step does not have: its result is not an object, or it was skipped."""


@dataclass(frozen=True)
class Items:
    """Expressions whose values a rule joins into a list, a text or a number."""

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
        found = self.items.resolve(scope)
        if isinstance(found, list) and len(found) > self.most:
            message = f"{self.place}: the list has {len(found)} items, but the repeat has at most {self.most} rounds"
            raise Unresolved("repeat-exhausted", f"{message} (`onExhausted: continue` allows this)", is_located=True)
        return found


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
        wanted = ArtifactRequest(key, self.kind, name, self.extension, iteration)
        return scope.artifact_list(wanted) if self.is_list else scope.artifact(wanted)


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
class Truth:
    """True unless the value is 0, empty text, null or false. Empty lists and objects are true."""

    value: Expression

    def resolve(self, scope: ExpressionScope) -> bool:
        return is_true(self.value.resolve(scope))


@dataclass(frozen=True)
class Not:
    condition: Expression

    def resolve(self, scope: ExpressionScope) -> bool:
        return not self.condition.resolve(scope)


@dataclass(frozen=True)
class Every:
    """`all` (`wanted` is true) or `any` (`wanted` is false). Stops at the first condition that decides."""

    conditions: tuple[Expression, ...]
    wanted: bool

    def resolve(self, scope: ExpressionScope) -> bool:
        for condition in self.conditions:
            if bool(condition.resolve(scope)) is not self.wanted:
                return not self.wanted
        return self.wanted


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
    Truth: ("value",),
    Not: ("condition",),
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
    changed: dict[str, Any] = {}
    for name in _INNER.get(type(expression), ()):
        inner = getattr(expression, name)
        if inner is not None:
            changed[name] = tuple(map(change, inner)) if isinstance(inner, tuple) else change(inner)
    whole: Expression = replace(expression, **changed)
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
    return any(isinstance(part, Ref | Exists | Artifact) for part in walk(expression))
