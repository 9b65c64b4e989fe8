"""Value and condition expressions of flows: parsed once; each knows its references and how to resolve. Pure.

An expression is data. What it needs from the world (files, artifacts) it asks of the scope it is resolved in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from handrail.artifacts.names import Wanted, name_text, whole_iteration
from handrail.source.templates import render
from handrail.source.values import JOIN, TESTS, Unresolved, as_text, is_true

SCOPES = ("params", "flow", "context", "repeat", "steps")


class Scope(NamedTuple):
    """Everything an expression may look at."""

    values: Mapping[str, Any]
    exists: Callable[[str], bool]
    artifact: Callable[[Wanted], str]
    artifact_list: Callable[[Wanted], list[str]]


class Expression(Protocol):
    """A value or a condition."""

    def references(self) -> Iterator[Ref]: ...

    def resolve(self, scope: Scope) -> Any: ...


class Const(NamedTuple):
    """A value as it is."""

    value: Any

    def references(self) -> Iterator[Ref]:
        return iter(())

    def resolve(self, scope: Scope) -> Any:
        del scope
        return self.value


class Ref(NamedTuple):
    """A dotted path into a scope. Its last member may be absent only where a step has no such field."""

    path: str

    @property
    def parts(self) -> list[str]:
        return [part for part in self.path.split(".") if part]

    def references(self) -> Iterator[Ref]:
        yield self

    def resolve(self, scope: Scope) -> Any:
        parts = self.parts
        if not parts or parts[0] not in SCOPES:
            raise Unresolved("ref-scope-unknown", f"`{self.path}` does not begin with one of {', '.join(SCOPES)}")
        found: Any = scope.values
        for place, part in enumerate(parts):
            found = _member(found, part, self.path)
            if found is ABSENT and place + 1 < len(parts):
                raise Unresolved(
                    "ref-unresolvable", f"`{self.path}`: there is nothing at `{'.'.join(parts[: place + 1])}`"
                )
        return None if found is ABSENT else found


class _Absent:
    """A field that a step may have and does not: a result that is not an object, a step that was skipped."""


ABSENT = _Absent()


def _member(value: Any, name: str, path: str) -> Any:
    if isinstance(value, Mapping) and name in value:
        return value[name]
    if isinstance(value, list) and name.isascii() and name.isdigit() and int(name) < len(value):
        return value[int(name)]
    raise Unresolved("ref-unresolvable", f"`{path}`: there is no `{name}`")


class Items(NamedTuple):
    """Expressions that are resolved together and joined by a rule: a list, a text, a number."""

    rule: str
    items: tuple[Expression, ...]

    def references(self) -> Iterator[Ref]:
        for item in self.items:
            yield from item.references()

    def resolve(self, scope: Scope) -> Any:
        return JOIN[self.rule]([item.resolve(scope) for item in self.items])


class Template(NamedTuple):
    """`{name}` text, rendered in one pass with values as text."""

    text: str
    names: tuple[str, ...]
    values: tuple[Expression, ...]

    def references(self) -> Iterator[Ref]:
        for value in self.values:
            yield from value.references()

    def resolve(self, scope: Scope) -> str:
        values = [as_text(value.resolve(scope)) for value in self.values]
        return render(self.text, dict(zip(self.names, values, strict=True)))


class Object(NamedTuple):
    """A mapping of names to expressions."""

    names: tuple[str, ...]
    values: tuple[Expression, ...]

    def references(self) -> Iterator[Ref]:
        for value in self.values:
            yield from value.references()

    def resolve(self, scope: Scope) -> dict[str, Any]:
        return {name: value.resolve(scope) for name, value in zip(self.names, self.values, strict=True)}


class AppendPrompt(NamedTuple):
    """Two texts, trimmed, one below the other; what is empty is left out."""

    base: Expression | None
    suffix: Expression

    def references(self) -> Iterator[Ref]:
        for part in (self.base, self.suffix):
            if part is not None:
                yield from part.references()

    def resolve(self, scope: Scope) -> str:
        found = [part.resolve(scope) for part in (self.base, self.suffix) if part is not None]
        texts = [as_text(value).strip() for value in found if value is not None]
        return "\n".join(text for text in texts if text)


class Artifact(NamedTuple):
    """The path of an artifact: of a kind of the second seed, or one of our own by its name.

    `key` is the key of its task or its scope. Without an iteration, the newest one is meant.
    """

    key: Expression
    kind: str | None = None
    name: Expression | None = None
    extension: str = "md"
    iteration: Expression | None = None
    is_list: bool = False

    def references(self) -> Iterator[Ref]:
        for part in (self.key, self.name, self.iteration):
            if part is not None:
                yield from part.references()

    def resolve(self, scope: Scope) -> Any:
        key = name_text(self.key.resolve(scope), "key" if self.kind else "scope")
        name = None if self.name is None else name_text(self.name.resolve(scope), "name")
        iteration = None if self.iteration is None else whole_iteration(self.iteration.resolve(scope))
        wanted = Wanted(key, self.kind, name, self.extension, iteration)
        return scope.artifact_list(wanted) if self.is_list else scope.artifact(wanted)


class Default(NamedTuple):
    """The first of its expressions that has a value and is not null."""

    choices: tuple[Expression, ...]

    def references(self) -> Iterator[Ref]:
        for choice in self.choices:
            yield from choice.references()

    def resolve(self, scope: Scope) -> Any:
        for choice in self.choices[:-1]:
            try:
                value = choice.resolve(scope)
            except Unresolved:
                continue
            if value is not None:
                return value
        return self.choices[-1].resolve(scope)


class Truth(NamedTuple):
    """Is a value true? Empty lists and objects are; 0, the empty text, null and false are not."""

    value: Expression

    def references(self) -> Iterator[Ref]:
        return self.value.references()

    def resolve(self, scope: Scope) -> bool:
        return is_true(self.value.resolve(scope))


class Not(NamedTuple):
    condition: Expression

    def references(self) -> Iterator[Ref]:
        return self.condition.references()

    def resolve(self, scope: Scope) -> bool:
        return not self.condition.resolve(scope)


class Every(NamedTuple):
    """`all` (`wanted` true) or `any` (false): looks no further than it has to."""

    conditions: tuple[Expression, ...]
    wanted: bool

    def references(self) -> Iterator[Ref]:
        for condition in self.conditions:
            yield from condition.references()

    def resolve(self, scope: Scope) -> bool:
        for condition in self.conditions:
            if bool(condition.resolve(scope)) is not self.wanted:
                return not self.wanted
        return self.wanted


class Test(NamedTuple):
    """Two values and a question about them."""

    rule: str
    left: Expression
    right: Expression

    def references(self) -> Iterator[Ref]:
        yield from self.left.references()
        yield from self.right.references()

    def resolve(self, scope: Scope) -> bool:
        return TESTS[self.rule](self.left.resolve(scope), self.right.resolve(scope))


class Defined(NamedTuple):
    """Does an expression have a value that is not null?"""

    value: Expression

    def references(self) -> Iterator[Ref]:
        return self.value.references()

    def resolve(self, scope: Scope) -> bool:
        try:
            return self.value.resolve(scope) is not None
        except Unresolved:
            return False


class Exists(NamedTuple):
    """Is there a file or folder at this path?"""

    path: Expression

    def references(self) -> Iterator[Ref]:
        return self.path.references()

    def resolve(self, scope: Scope) -> bool:
        path = self.path.resolve(scope)
        if not isinstance(path, str):
            raise Unresolved("exists-needs-text", f"`exists` needs a path, found {as_text(path)}")
        return scope.exists(path)
