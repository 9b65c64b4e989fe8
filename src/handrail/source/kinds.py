"""Mappings of several kinds, written as `kind: NAME` with params, or in short as `NAME: VALUE`. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from handrail.source.dataclasses import dataclass, replace
from handrail.source.fields import Field, Shape, json_schema, shape
from handrail.source.yamltree import Node

KIND = "kind"


class Choice(Protocol):
    """One kind: the shape of its params, the param that the short form `NAME: VALUE` sets, and words that mean it."""

    @property
    def shape(self) -> Shape: ...

    @property
    def short(self) -> str | None: ...

    @property
    def also(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class Chosen:
    """The kind of a mapping, and the keys that hold its params. `short` is set if the short form is used."""

    kind: str
    shape: Shape
    short: str | None = None

    def params(self, node: Node) -> dict[str, Node]:
        """The params of the mapping, by declared name."""
        return {self.declared_name(name): node.value[name] for name in self.shape.by_name if name in node.value}

    def declared_name(self, name: str) -> str:
        """The declared name of the param that is written under the key `name`."""
        return self.short if self.short is not None and name == self.kind else name


def several_kinds_message(names: list[str]) -> str:
    """The message for a mapping that names several kinds."""
    return f"{' and '.join(f'`{name}`' for name in names)} are {'two' if len(names) == 2 else len(names)} checks"


def short_forms(node: Node, choices: Mapping[str, Choice]) -> list[str]:
    """The kinds whose short form the mapping uses."""
    return [name for name in shorts(choices) if name in node.value]


def shorts(choices: Mapping[str, Choice]) -> list[str]:
    """The kinds that have a short form."""
    return [name for name, choice in choices.items() if choice.short is not None]


def meant_kind(name: str, choices: Mapping[str, Choice]) -> str | None:
    """The kind whose short form is meant by `NAME: VALUE`. None if the name is no word for any."""
    short = [(kind, choice) for kind, choice in choices.items() if choice.short is not None]
    return next((kind for kind, choice in short if name == choice.short or name in choice.also), None)


def example(kind: str, choice: Choice) -> str:
    """The short form of a kind: `file: PATH`."""
    return f"{kind}: {(choice.short or '').upper()}"


def choose(kind: str, choice: Choice, *, is_short: bool) -> Chosen:
    if not is_short:
        return Chosen(kind, choice.shape)
    fields = [replace(field, name=kind) if field.name == choice.short else field for field in choice.shape.fields]
    return Chosen(kind, shape(choice.shape.title, choice.shape.about, *fields), choice.short)


def union(title: str, about: str, choices: Mapping[str, Choice], common: Iterable[Field]) -> Shape:
    """A shape with all keys of all these kinds."""
    fields = {KIND: Field(KIND, ("text",), f"one of {', '.join(choices)}")}
    for name, choice in choices.items():
        for field in choice.shape.fields:
            if field.name == choice.short:
                fields[name] = replace(field, name=name, required=False)
            fields.setdefault(field.name, replace(field, required=False))
    return shape(title, about, *fields.values(), *common)


def kinds_schema(
    choices: Mapping[str, Choice], common: Iterable[Field], value: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The JSON Schema of a mapping of any kind. `value` is the schema of an expression, allowed for every param.

    The keys of all kinds are in it once, so that editors offer and explain them; the rules say what each kind allows.
    """
    common = tuple(common)
    whole = json_schema(union("", "", choices, ()), value)
    whole["properties"][KIND] = {
        "enum": list(choices),
        "enumDescriptions": [choice.shape.about for choice in choices.values()],
        "description": "what is verified",
    }
    whole["properties"] |= json_schema(shape("", "", *common))["properties"]
    short = shorts(choices)
    return {
        "type": "object",
        "description": "something that Handrail verifies itself",
        "properties": whole["properties"],
        "allOf": [rule for name, choice in choices.items() for rule in _rules(name, choice, common, value)],
        "anyOf": [{"required": [KIND]}, *({"required": [name]} for name in short)],
    }


def exactly(name: str) -> str:
    """A pattern that fits this name only. While a person types, editors let a `const` fit its beginnings, too."""
    return f"^{name.replace('.', '[.]')}$"


def _rules(
    name: str, choice: Choice, common: tuple[Field, ...], value: Mapping[str, Any] | None
) -> Iterator[dict[str, Any]]:
    """What the long form of a kind allows, and the short form, if there is one."""
    long = {"properties": {KIND: {"pattern": exactly(name)}}, "required": [KIND]}
    yield {"if": long, "then": _allowed(choose(name, choice, is_short=False), common, value)}
    if choice.short is not None:
        brief = {"required": [name], "not": {"required": [KIND]}}
        yield {"if": brief, "then": _allowed(choose(name, choice, is_short=True), common, value)}


def _allowed(chosen: Chosen, common: tuple[Field, ...], value: Mapping[str, Any] | None) -> dict[str, Any]:
    schema = json_schema(chosen.shape, value)
    kind = {} if chosen.short is not None else {KIND: {"const": chosen.kind}}
    return {**schema, "properties": kind | schema["properties"] | {field.name: True for field in common}}
