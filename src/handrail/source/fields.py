"""Declares the keys of a mapping once; reads values by this declaration and generates JSON Schema from it.

A reader reports every problem with its place. It does not stop at the first one and does not raise for bad content.
A mapping of several kinds is written as `kind: NAME` with params, or in short as `NAME: VALUE`. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

from handrail.base.dataclasses import dataclass, replace
from handrail.source.definition_files import Source
from handrail.source.diagnostics import Diagnostic, Severity
from handrail.source.suggestions import did_you_mean, nearest
from handrail.source.tree import TreeNode, ValueKind, node_text
from handrail.source.values import parse_duration


@dataclass(frozen=True)
class Field:
    """One key of a mapping: which values it allows, and what it means to the user.

    A number has bounds (`above` is exclusive) and a `unit`. A list has kinds of `items`, or the shape of each `item`,
    and a minimum length `shortest`. A text with a `shortest` length must not be blank. `names` says what the text
    refers to: a path in the project, a flow, a workflow or a schema. `check` reports what the other attributes cannot
    express. `is_data`: mappings in the value are what they are, not expressions such as `const: ...`. `also` are other
    words that people write for the key, `meanings` those that they write for a choice; they are only suggested.
    `explained` says what each of the `choices` means, in their order, and `examples` are values; editors show both.
    """

    name: str
    kinds: tuple[ValueKind, ...]
    about: str
    required: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()
    lenient: bool = False
    schema: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None
    least: float | None = None
    above: float | None = None
    most: float | None = None
    unit: str = ""
    items: tuple[ValueKind, ...] = ()
    item: Shape | None = None
    shortest: int = 0
    names: Literal["path", "flow", "workflow", "schema", "agent"] | None = None
    is_data: bool = False
    also: tuple[str, ...] = ()
    meanings: Mapping[str, str] | None = None
    explained: tuple[str, ...] = ()
    examples: tuple[Any, ...] = ()
    check: Callable[[MappingReader, TreeNode], None] | None = None


@dataclass(frozen=True)
class Shape:
    """All keys a mapping may have."""

    title: str
    about: str
    fields: tuple[Field, ...]

    by_name: dict[str, Field]


def shape(title: str, about: str, *fields: Field) -> Shape:
    return Shape(title, about, fields, {field.name: field for field in fields})


Report = Callable[[Diagnostic], None]

_NOUNS: dict[ValueKind, str] = {
    "text": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "an empty value",
    "list": "a list",
    "mapping": "a mapping",
    "later": "a value of the run",
}
SCALARS: tuple[ValueKind, ...] = ("text", "integer", "number", "boolean")
ANYTHING: tuple[ValueKind, ...] = (*SCALARS, "null", "list", "mapping")


def noun(kinds: Sequence[ValueKind]) -> str:
    return " or ".join(_NOUNS[kind] for kind in kinds if kind != "integer" or "number" not in kinds)


def found(node: TreeNode) -> str:
    """A description of the value, for `found ...` in a message."""
    if node.kind in ("list", "mapping", "null"):
        return _NOUNS[node.kind]
    name = "a truth value" if node.kind == "boolean" else _NOUNS[node.kind]
    return f"{name} {quoted(node)}"


def quoted(node: TreeNode) -> str:
    """A scalar in backticks, cut after 40 characters."""
    text = node_text(node)
    return f"`{text if len(text) <= 40 else text[:39] + '…'}`"


def limits(field: Field) -> str:
    """The bounds of a number in words, or an empty text if there are no bounds."""
    unit = f" {field.unit}" if field.unit else ""
    if field.above is not None:
        upper_limit = "" if field.most is None else f" and at most {field.most}"
        return f"more than {field.above}{upper_limit}{unit}"
    if field.least is not None:
        return f"{field.least} or more{unit}" if field.most is None else f"between {field.least} and {field.most}{unit}"
    return "" if field.most is None else f"at most {field.most}{unit}"


def field_words(field: Field) -> str:
    """What a key means and which values it may have, in one line. What becomes text is called text."""
    kinds: Sequence[ValueKind] = (
        ("text",) if set(SCALARS) <= {*field.kinds} else [kind for kind in field.kinds if kind != "null"]
    )
    choices = f"one of {', '.join(field.choices)}" if field.choices else ""
    default = (
        ""
        if field.default is None
        else f"default: {str(field.default).replace('True', 'true').replace('False', 'false')}"
    )
    item = f"each with {', '.join(field.item.by_name)}" if field.item else ""
    facts = ("anything" if field.kinds == ANYTHING else noun(kinds), choices, item, limits(field))
    return "; ".join(filter(None, (field.about, *facts, "required" if field.required else default)))


def meant_key(source: Source, name: str, known: Iterable[str]) -> str | None:
    """The key that a misspelt one means. None if none is similar, or if the file may have keys of its own."""
    suggestions = [] if source.is_foreign or name.startswith("_") else nearest(name, known)
    return suggestions[0] if suggestions else None


def unknown_key(source: Source, name: str, at: tuple[int, int], known: Collection[str]) -> Diagnostic:
    """The problem of an unknown key: an error if it is misspelt, because what it says would be ignored."""
    place = source.key_place(name, at)
    hint = did_you_mean(name, known) or f"known here: {', '.join(known)}"
    if name == "<<":
        hint = "merge keys are not supported; write the keys themselves"
    if meant_key(source, name, known) is not None:
        return source.problem("misspelt-key", place, f"unknown key `{name}`", hint)
    return source.problem("unknown-key", place, f"unknown key `{name}`", hint, "warning")


class MappingReader:
    """Reads one mapping of a file by its shape, and passes each problem to `report`.

    `misspelt` are the keys that are missing because they are misspelt. They are reported once, as unknown keys.
    `elsewhere` are keys that belong to another place: name → where.
    """

    def __init__(
        self, source: Source, node: TreeNode, shape: Shape, report: Report, elsewhere: Mapping[str, str] | None = None
    ) -> None:
        self.source = source
        self.node = node
        self.shape = shape
        self.report = report
        self.misspelt: set[str] = set()
        self.elsewhere = elsewhere or {}
        self._check_names()

    def _check_names(self) -> None:
        if self.node.keys.keys() <= self.shape.by_name.keys():
            return
        for name, at in self.node.keys.items():
            if name not in self.shape.by_name:
                if name in self.elsewhere:
                    place = self.source.key_place(name, at)
                    self.at(place, "misspelt-key", f"`{name}` is not read here", self.elsewhere[name])
                    continue
                self.report(unknown_key(self.source, name, at, self.shape.by_name))
                self.misspelt.add(meant_key(self.source, name, self.shape.by_name) or "")

    def at(
        self,
        place: tuple[int, int, int],
        code: str,
        message: str,
        hint: str | None = None,
        severity: Severity = "error",
    ) -> None:
        self.report(self.source.problem(code, place, message, hint, severity))

    def on(self, node: TreeNode, code: str, message: str, hint: str | None = None) -> None:
        self.at(node.place, code, message, hint)

    def child(self, name: str, example: str | None = None) -> TreeNode | None:
        """The node of a field, or None if it is missing or invalid. `example` is the hint for a wrong kind."""
        field = self.shape.by_name[name]
        node: TreeNode | None = self.node.value.get(name)
        if node is None:
            if field.required and name not in self.misspelt:
                place = (self.node.line, self.node.column, 1)
                sign = " =" if self.source.file.endswith(".toml") else ":"
                self.at(place, "missing-key", f"key `{name}` is missing", f"add `{name}{sign}`, {field.about}")
            return None
        if node.kind not in field.kinds:
            hint = example or self.other_kind(field, node) or f"`{name}` means: {field.about}"
            message = f"`{name}` has to be {noun(field.kinds)}, found {found(node)}"
            self.at(node.place, "wrong-type", message, hint, "warning" if field.lenient else "error")
            return None
        if field.choices and node.value not in field.choices:
            choices = " or ".join(f"`{choice}`" for choice in field.choices)
            meaning = (field.meanings or {}).get(str(node.value))
            suggestion = f"did you mean `{meaning}`?" if meaning else did_you_mean(str(node.value), field.choices)
            self.on(node, "bad-value", f"`{name}` has to be {choices}, found {quoted(node)}", suggestion or field.about)
            return None
        return node

    def other_kind(self, field: Field, node: TreeNode) -> str | None:
        """A hint that shows how to write the value that was probably meant."""
        if "text" in field.kinds and node.kind in ("integer", "number", "boolean"):
            return f'put it in quotes: `{field.name}: "{self.written(node)}"`'
        if "text" in field.kinds and self.written(node)[:1] in ("{", "["):
            return f"put text that begins with `{self.written(node)[0]}` in quotes"
        if node.kind != "text":
            return None
        if "boolean" in field.kinds:
            return "write true or false, without quotes"
        if "integer" in field.kinds:
            seconds = parse_duration(node.value) if "second" in f"{field.about} {field.unit}" else None
            return "write a number, without quotes" if seconds is None else f"write seconds: `{seconds:.0f}`"
        if field.kinds == ("list",):
            return f"write a list: `{field.name}: [{', '.join(node.value.split())}]`"
        return None

    def written(self, node: TreeNode) -> str:
        """The text of a node in the file; only its first line."""
        line = self.source.line(node.line) or ""
        return line[node.column - 1 : node.column - 1 + node.width]

    def text(self, name: str) -> str | None:
        """The text of a field, or None if it is missing or invalid. A required text must not be blank."""
        node = self.child(name)
        if node is None:
            return None
        field = self.shape.by_name[name]
        if field.required and not node.value.strip():
            self.on(node, "blank-text", f"`{name}` is blank", f"fill it in: {field.about}")
            return None
        return str(node.value)

    def flag(self, name: str, default: bool) -> bool:
        node = self.child(name)
        return default if node is None else bool(node.value)

    def integer(self, name: str) -> int | None:
        node = self.child(name)
        return None if node is None else int(node.value)

    def texts(self, name: str) -> tuple[str, ...] | None:
        """The items of a list of scalars, each as text. Reports lists and mappings among the items."""
        node = self.child(name)
        if node is None:
            return None
        items: list[str] = []
        for item in node.value:
            if item.kind == "text":
                items.append(item.value)
            elif item.kind in ("list", "mapping"):
                severity: Severity = "warning" if self.shape.by_name[name].lenient else "error"
                message = f"an item of `{name}` has to be text, found {found(item)}"
                self.at(item.place, "wrong-type", message, "write plain text, or put it in quotes", severity)
            else:
                items.append(node_text(item))
        return tuple(items)


NOT_BLANK = r"\S"
"""The pattern of a text that is not blank, in a JSON Schema."""
_SCHEMA_TYPES: dict[ValueKind, str] = {
    "text": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
    "list": "array",
    "mapping": "object",
}


def json_schema(shape: Shape, value: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The shape as a JSON Schema, for editors. `value` is the schema of an expression, allowed for every field.

    Other keys are not allowed, because a reader reports them.
    """
    properties = {field.name: field_schema(field, value) for field in shape.fields}
    schema: dict[str, Any] = {"type": "object", "description": shape.about, "properties": properties}
    required_names = [field.name for field in shape.fields if field.required]
    if required_names:
        schema["required"] = required_names
    schema["additionalProperties"] = False
    return schema


def field_schema(field: Field, value: Mapping[str, Any] | None = None) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": _types(field.kinds), **_limits(field, value)}
    if field.schema is not None:
        entry = dict(field.schema() if callable(field.schema) else field.schema)
    if field.choices:
        entry["enum"] = list(field.choices)
    if field.explained:
        entry["enumDescriptions"] = list(field.explained)
    if value is not None:
        entry = {"anyOf": [*_plain_values(field, entry), value]}
    entry["description"] = field.about
    if field.default is not None:
        entry["default"] = field.default
    if field.examples:
        entry["examples"] = list(field.examples)
    return entry


def _plain_values(field: Field, entry: dict[str, Any]) -> list[dict[str, Any]]:
    """The values of a field beside expressions. If mappings are among them, one with a single key is an expression."""
    kinds = tuple(kind for kind in field.kinds if kind != "mapping")
    if field.schema is not None or field.is_data or not kinds or kinds == field.kinds:
        return [entry]
    return [{**entry, "type": _types(kinds)}, {"type": "object", "minProperties": 2}]


def _types(kinds: Sequence[ValueKind]) -> str | list[str]:
    types = [_SCHEMA_TYPES[kind] for kind in kinds if kind != "integer" or "number" not in kinds]
    return types[0] if len(types) == 1 else types


def _limits(field: Field, value: Mapping[str, Any] | None) -> dict[str, Any]:
    """The bounds of a number, the minimum length of a list, whether a text may be blank, and the items of a list."""
    bounds = {"minimum": field.least, "exclusiveMinimum": field.above, "maximum": field.most}
    limits: dict[str, Any] = {name: bound for name, bound in bounds.items() if bound is not None}
    if "list" in field.kinds and field.shortest:
        limits["minItems"] = field.shortest
    if "text" in field.kinds and field.shortest:
        limits["pattern"] = NOT_BLANK
    items = json_schema(field.item, value) if field.item is not None else None
    if items is None and field.items:
        items = {"type": _types(field.items)}
    if items is not None:
        limits["items"] = items if value is None else {"anyOf": [items, value]}
    return limits


KIND = "kind"


class DeclaredKind(Protocol):
    """One kind: the shape of its params, the param that the short form `NAME: VALUE` sets, and words that mean it."""

    @property
    def shape(self) -> Shape: ...

    @property
    def short(self) -> str | None: ...

    @property
    def also(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class ChosenKind:
    """The kind of a mapping, and the keys that hold its params. `short` is set if the short form is used."""

    kind: str
    shape: Shape
    short: str | None = None

    def params(self, node: TreeNode) -> dict[str, TreeNode]:
        """The params of the mapping, by declared name."""
        return {self.declared_name(name): node.value[name] for name in self.shape.by_name if name in node.value}

    def declared_name(self, name: str) -> str:
        """The declared name of the param that is written under the key `name`."""
        return self.short if self.short is not None and name == self.kind else name


def several_kinds_message(names: list[str]) -> str:
    return f"{' and '.join(f'`{name}`' for name in names)} are {'two' if len(names) == 2 else len(names)} checks"


def short_forms(node: TreeNode, choices: Mapping[str, DeclaredKind]) -> list[str]:
    return [name for name in kinds_with_short_form(choices) if name in node.value]


def kinds_with_short_form(choices: Mapping[str, DeclaredKind]) -> list[str]:
    return [name for name, choice in choices.items() if choice.short is not None]


def meant_kind(name: str, choices: Mapping[str, DeclaredKind]) -> str | None:
    """The kind whose short form is meant by `NAME: VALUE`. None if the name is no word for any."""
    short = [(kind, choice) for kind, choice in choices.items() if choice.short is not None]
    return next((kind for kind, choice in short if name == choice.short or name in choice.also), None)


def short_example(kind: str, choice: DeclaredKind) -> str:
    """The short form of a kind: `file: PATH`."""
    return f"{kind}: {(choice.short or '').upper()}"


def choose_kind(kind: str, choice: DeclaredKind, *, is_short: bool) -> ChosenKind:
    if not is_short:
        return ChosenKind(kind, choice.shape)
    fields = [replace(field, name=kind) if field.name == choice.short else field for field in choice.shape.fields]
    return ChosenKind(kind, shape(choice.shape.title, choice.shape.about, *fields), choice.short)


def union_shape(title: str, about: str, choices: Mapping[str, DeclaredKind], common: Iterable[Field]) -> Shape:
    """A shape with all keys of all these kinds."""
    fields = {KIND: Field(KIND, ("text",), f"one of {', '.join(choices)}")}
    for name, choice in choices.items():
        for field in choice.shape.fields:
            if field.name == choice.short:
                fields[name] = replace(field, name=name, required=False)
            fields.setdefault(field.name, replace(field, required=False))
    return shape(title, about, *fields.values(), *common)


def kinds_schema(
    choices: Mapping[str, DeclaredKind], common: Iterable[Field], value: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The JSON Schema of a mapping of any kind. `value` is the schema of an expression, allowed for every param.

    The keys of all kinds are in it once, so that editors offer and explain them; the rules say what each kind allows.
    """
    common = tuple(common)
    whole = json_schema(union_shape("", "", choices, ()), value)
    whole["properties"][KIND] = {
        "enum": list(choices),
        "enumDescriptions": [choice.shape.about for choice in choices.values()],
        "description": "what is verified",
    }
    whole["properties"] |= json_schema(shape("", "", *common))["properties"]
    short = kinds_with_short_form(choices)
    return {
        "type": "object",
        "description": "something that Handrail verifies itself",
        "properties": whole["properties"],
        "allOf": [rule for name, choice in choices.items() for rule in _kind_rules(name, choice, common, value)],
        "anyOf": [{"required": [KIND]}, *({"required": [name]} for name in short)],
    }


def exact_pattern(name: str) -> str:
    """A pattern that fits this name only. While a person types, editors let a `const` fit its beginnings, too."""
    return f"^{name.replace('.', '[.]')}$"


def _kind_rules(
    name: str, choice: DeclaredKind, common: tuple[Field, ...], value: Mapping[str, Any] | None
) -> Iterator[dict[str, Any]]:
    """What the long form of a kind allows, and the short form, if there is one."""
    others = {field.name: True for field in common}
    long = json_schema(choice.shape, value)
    long["properties"] = {KIND: {"const": name}, **long["properties"], **others}
    yield {"if": {"properties": {KIND: {"pattern": exact_pattern(name)}}, "required": [KIND]}, "then": long}
    if choice.short is not None:
        short = json_schema(choose_kind(name, choice, is_short=True).shape, value)
        short["properties"] |= others
        yield {"if": {"required": [name], "not": {"required": [KIND]}}, "then": short}
