"""Value and condition expressions of flows. Each one knows its parts and how to resolve itself. Pure.

An expression is data. It asks the scope that it is resolved in for files and artifacts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from handrail.artifacts.names import Wanted, name_text, whole_iteration
from handrail.expressions.syntax import SCOPES
from handrail.source.dataclasses import dataclass, field, replace
from handrail.source.templates import fill
from handrail.source.values import OPERATIONS, TESTS, Unresolved, as_joined_text, is_true, member_at, shown


@dataclass(frozen=True)
class Scope:
    """Everything that an expression may read. `refuse` is called with every value that a reference finds."""

    values: Mapping[str, Any]
    exists: Callable[[str], bool]
    artifact: Callable[[Wanted], str]
    artifact_list: Callable[[Wanted], list[str]]
    refuse: Callable[[Any], None] | None = None


class Expression(Protocol):
    """A value or a condition."""

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions directly inside this one."""
        ...

    def rebuild(self, parts: tuple[Expression, ...]) -> Expression:
        """The same expression with other parts. Their number stays the same."""
        ...

    def resolve(self, scope: Scope) -> Any: ...


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything inside it, outermost first."""
    yield expression
    for part in expression.parts:
        yield from walk(part)


@dataclass(frozen=True)
class Const:
    """A constant value."""

    value: Any

    @property
    def parts(self) -> tuple[Expression, ...]:
        return ()

    def rebuild(self, parts: tuple[Expression, ...]) -> Const:
        del parts
        return self

    def resolve(self, scope: Scope) -> Any:
        del scope
        return self.value


@dataclass(frozen=True)
class Ref:
    """A dotted path into a scope. It resolves to None if it ends at a field that a step does not have."""

    path: str

    @property
    def names(self) -> list[str]:
        return [name for name in self.path.split(".") if name]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return ()

    def rebuild(self, parts: tuple[Expression, ...]) -> Ref:
        del parts
        return self

    def resolve(self, scope: Scope) -> Any:
        found = self.find(scope)
        return None if found is ABSENT else found

    def find(self, scope: Scope) -> Any:
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


class _Absent:
    """A field that this step does not have: its result is not an object, or it was skipped."""


ABSENT = _Absent()


@dataclass(frozen=True)
class Items:
    """Expressions whose values a rule joins into a list, a text or a number."""

    rule: str
    items: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.items

    def rebuild(self, parts: tuple[Expression, ...]) -> Items:
        return Items(self.rule, parts)

    def resolve(self, scope: Scope) -> Any:
        return OPERATIONS[self.rule]([item.resolve(scope) for item in self.items])


@dataclass(frozen=True)
class Within:
    """A list with at most `most` items. It cannot be resolved if it has more. `place` is where the file says so."""

    items: Expression
    most: int
    place: str = field(compare=False, repr=False)

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.items,)

    def rebuild(self, parts: tuple[Expression, ...]) -> Within:
        return replace(self, items=parts[0])

    def resolve(self, scope: Scope) -> Any:
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

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.values

    def rebuild(self, parts: tuple[Expression, ...]) -> Template:
        return replace(self, values=parts)

    def resolve(self, scope: Scope) -> str:
        values = [as_joined_text(value.resolve(scope)) for value in self.values]
        return fill(self.text, dict(zip(self.names, values, strict=True)))


@dataclass(frozen=True)
class Object:
    """A mapping of names to expressions."""

    names: tuple[str, ...]
    values: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.values

    def rebuild(self, parts: tuple[Expression, ...]) -> Object:
        return replace(self, values=parts)

    def resolve(self, scope: Scope) -> dict[str, Any]:
        return {name: value.resolve(scope) for name, value in zip(self.names, self.values, strict=True)}


@dataclass(frozen=True)
class AppendPrompt:
    """Two trimmed texts, one below the other. Empty ones are left out."""

    base: Expression | None
    suffix: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.suffix,) if self.base is None else (self.base, self.suffix)

    def rebuild(self, parts: tuple[Expression, ...]) -> AppendPrompt:
        return AppendPrompt(None if self.base is None else parts[0], parts[-1])

    def resolve(self, scope: Scope) -> str:
        found = [part.resolve(scope) for part in (self.base, self.suffix) if part is not None]
        texts = [as_joined_text(value).strip() for value in found if value is not None]
        return "\n".join(text for text in texts if text)


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

    @property
    def parts(self) -> tuple[Expression, ...]:
        return tuple(part for part in (self.key, self.name, self.iteration) if part is not None)

    def rebuild(self, parts: tuple[Expression, ...]) -> Artifact:
        given = iter(parts)
        return replace(
            self,
            key=next(given),
            name=None if self.name is None else next(given),
            iteration=None if self.iteration is None else next(given),
        )

    def resolve(self, scope: Scope) -> Any:
        key = name_text(self.key.resolve(scope), "key" if self.kind else "scope")
        name = None if self.name is None else name_text(self.name.resolve(scope), "name")
        iteration = None if self.iteration is None else whole_iteration(self.iteration.resolve(scope))
        wanted = Wanted(key, self.kind, name, self.extension, iteration)
        return scope.artifact_list(wanted) if self.is_list else scope.artifact(wanted)


@dataclass(frozen=True)
class Default:
    """The value of the first expression that resolves and is not null."""

    choices: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.choices

    def rebuild(self, parts: tuple[Expression, ...]) -> Default:
        return Default(parts)

    def resolve(self, scope: Scope) -> Any:
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

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.value,)

    def rebuild(self, parts: tuple[Expression, ...]) -> Truth:
        return Truth(parts[0])

    def resolve(self, scope: Scope) -> bool:
        return is_true(self.value.resolve(scope))


@dataclass(frozen=True)
class Not:
    condition: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.condition,)

    def rebuild(self, parts: tuple[Expression, ...]) -> Not:
        return Not(parts[0])

    def resolve(self, scope: Scope) -> bool:
        return not self.condition.resolve(scope)


@dataclass(frozen=True)
class Every:
    """`all` (`wanted` is true) or `any` (`wanted` is false). Stops at the first condition that decides."""

    conditions: tuple[Expression, ...]
    wanted: bool

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.conditions

    def rebuild(self, parts: tuple[Expression, ...]) -> Every:
        return Every(parts, self.wanted)

    def resolve(self, scope: Scope) -> bool:
        for condition in self.conditions:
            if bool(condition.resolve(scope)) is not self.wanted:
                return not self.wanted
        return self.wanted


@dataclass(frozen=True)
class Test:
    """A comparison of two values."""

    rule: str
    left: Expression
    right: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.left, self.right)

    def rebuild(self, parts: tuple[Expression, ...]) -> Test:
        return Test(self.rule, parts[0], parts[1])

    def resolve(self, scope: Scope) -> bool:
        return TESTS[self.rule](self._side(self.left, scope), self._side(self.right, scope))

    def _side(self, side: Expression, scope: Scope) -> Any:
        """The value of a side. For equality, a field that a step does not have is not the same as null."""
        return side.find(scope) if isinstance(side, Ref) and self.is_equality else side.resolve(scope)

    @property
    def is_equality(self) -> bool:
        return self.rule in ("equals", "differs")


@dataclass(frozen=True)
class Defined:
    """True if an expression resolves to a value other than null."""

    value: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.value,)

    def rebuild(self, parts: tuple[Expression, ...]) -> Defined:
        return Defined(parts[0])

    def resolve(self, scope: Scope) -> bool:
        try:
            return self.value.resolve(scope) is not None
        except Unresolved:
            return False


@dataclass(frozen=True)
class Exists:
    """True if there is a file or folder at this path."""

    path: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.path,)

    def rebuild(self, parts: tuple[Expression, ...]) -> Exists:
        return Exists(parts[0])

    def resolve(self, scope: Scope) -> bool:
        path = self.path.resolve(scope)
        if not isinstance(path, str):
            raise Unresolved("exists-needs-text", f"`exists` needs a path, found {shown(path)}")
        return path != "" and scope.exists(path)
