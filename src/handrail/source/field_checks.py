"""Checks values against their declared fields. Pure.

A node of kind `later` stands for a value that is known only when a flow runs. It is not checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from posixpath import normpath
from types import UnionType
from typing import Any

from handrail.source.fields import Field, MappingReader, found, limits, noun, quoted
from handrail.source.suggestions import nearest
from handrail.source.tree import TreeNode, ValueKind, node_text
from handrail.source.values import Unresolved, as_text, number, shown

TextCheck = Callable[[MappingReader, Field, TreeNode], None]


class Later(str):
    """Stands for a value that is known only when a flow runs, among plain values."""

    __slots__ = ()


LATER = Later("…")


def check_fields(reader: MappingReader, look: TextCheck | None = None) -> None:
    """Report invalid values of a mapping. `look` checks texts of fields that have `names`."""
    for field in reader.shape.fields:
        node: TreeNode | None = reader.node.value.get(field.name)
        if node is None or node.kind == "later" or reader.child(field.name) is None:
            continue
        if node.kind == "list":
            _check_list(reader, field, node, look)
        elif node.kind in ("integer", "number"):
            check_bounds(reader, field, node)
        elif node.kind == "text":
            _check_text(reader, field, node, look)
        if field.check is not None:
            field.check(reader, node)


def check_bounds(reader: MappingReader, field: Field, node: TreeNode) -> bool:
    """Report a number that is out of bounds. True if it is within them."""
    is_within = _is_within(field, node.value)
    if not is_within:
        message = f"`{field.name}` has to be {limits(field)}, found {quoted(node)}"
        reader.on(node, "bad-value", message, f"`{field.name}` means: {field.about}")
    return is_within


def _is_within(field: Field, value: float) -> bool:
    """True if a number is within its bounds. Each comparison is False for `.nan`."""
    return (
        (field.above is None or value > field.above)
        and (field.least is None or value >= field.least)
        and (field.most is None or value <= field.most)
    )


def _check_text(reader: MappingReader, field: Field, node: TreeNode, look: TextCheck | None) -> None:
    if field.shortest and not node.value.strip():
        reader.on(node, "blank-text", f"`{field.name}` is blank", f"fill it in: {field.about}")
    elif field.names == "path" and leads_out(node.value):
        hint = "write a path inside the project"
        reader.on(node, "path-escape", f"`{field.name}` leads out of the project: {quoted(node)}", hint)
    elif field.names is not None and look is not None:
        look(reader, field, node)


def leads_out(path: str, project: str = "") -> bool:
    """True if a path is outside of the project. Without `project`, an absolute path counts as inside."""
    if path.startswith("/"):
        return bool(project) and not f"{normpath(path)}/".startswith(f"{normpath(project)}/")
    return "\0" in path or normpath(path).split("/")[0] == ".."


def _check_list(reader: MappingReader, field: Field, node: TreeNode, look: TextCheck | None) -> None:
    if len(node.value) < field.shortest:
        reader.on(node, "bad-value", f"`{field.name}` is empty", f"fill it in: {field.about}")
    for item in node.value:
        if item.kind == "later":
            continue
        if field.item is not None:
            _check_item(reader, field, item, look)
        elif field.items and item.kind not in field.items:
            kinds, hint = noun(field.items), f"it means: {field.about}"
            if "text" in field.items:  # numbers and booleans are converted to text
                kinds, hint = "text", "write plain text, or put it in quotes"
            reader.on(item, "wrong-type", f"an item of `{field.name}` has to be {kinds}, found {found(item)}", hint)


def _check_item(reader: MappingReader, field: Field, item: TreeNode, look: TextCheck | None) -> None:
    assert field.item is not None
    shape = field.item
    names = {inner.name: "NAME" if inner.names == "schema" else inner.name.upper() for inner in shape.fields}
    example = ", ".join(f"{inner.name}: {names[inner.name]}" for inner in shape.fields if inner.required)
    hint = f"write `{{{example}}}`"
    if item.kind != "mapping":
        message = f"an item of `{field.name}` has to be a mapping, found {found(item)}"
        reader.on(item, "wrong-type", message, hint)
        return
    missing_names = [inner.name for inner in shape.fields if inner.required and inner.name not in item.value]
    if missing_names:
        reader.on(item, "missing-key", f"an item of `{field.name}` needs `{missing_names[0]}`", hint)
        return
    check_fields(MappingReader(reader.source, item, shape, reader.report), look)


def refuse_unknown(
    reader: MappingReader, node: TreeNode, what: str, *, only_typos: bool = False, beside: Collection[str] = ()
) -> set[str]:
    """Report undeclared params; return the similar declared names. `only_typos`: ignore names without a similar one.

    `beside` are the keys that are allowed beside `params`.
    """
    fields, suggestions = reader.shape.by_name, set()
    for name, at in node.keys.items():
        if name in fields:
            continue
        unset = [other for other in fields if other not in node.value]
        similar = [other for other in unset if name in fields[other].also] or nearest(name, unset)
        suggestions.update(similar)
        if not similar and only_typos:
            continue
        hint = f"its params: {', '.join(fields)}" if fields else "it takes no params; remove this one"
        if name in beside:
            hint = f"`{name}` is a key of the step: write it beside `params`"
        if similar:
            field, value = fields[similar[0]], node.value[name]
            how_to_write = reader.other_kind(field, value) if value.kind not in (*field.kinds, "later") else None
            hint = " ".join(filter(None, (f"did you mean `{field.name}`?", how_to_write)))
        message = f"`{what}` has no param `{name}`"
        reader.at(reader.source.key_place(name, at), "param-unknown", message, hint)
    return suggestions


def usable(fields: Iterable[Field], params: Mapping[str, Any]) -> dict[str, Any]:
    """Values that only a run knows, as their fields want them. Raises `ValueError` if nothing can use one.

    A text may stand for a number, and a number for a text. In place of null there is the default.
    """
    values = dict(params)
    for field in fields:
        value = params.get(field.name)
        if value is not None:
            values[field.name] = _usable_value(field, value)
        elif field.default is not None:
            values[field.name] = field.default
        elif field.required and "null" not in field.kinds:
            raise ValueError(f"`{field.name}` needs a value, but it is null")
    return values


def _usable_value(field: Field, value: Any) -> Any:
    kinds = set(field.kinds) - {"null"}
    if kinds <= {"integer", "number"}:
        value = _usable_number(field, value)
    for kind, types in _PYTHON.items():
        if kinds == {kind} and not isinstance(value, types):
            raise _unusable(field, value)
    if kinds == {"text", "list"} and not isinstance(value, str | list):
        raise _unusable(field, value)
    if kinds == {"text"}:
        value = as_text(value)
    if isinstance(value, str):
        _refuse_text(field, value)
    return _usable_items(field, value) if isinstance(value, list) else value


_PYTHON: dict[ValueKind, type | UnionType] = {
    "text": str | int | float,
    "boolean": bool,
    "list": list,
    "mapping": Mapping,
}
"""The values that a field of one kind can use."""


def _unusable(field: Field, value: Any) -> ValueError:
    kinds = noun([kind for kind in field.kinds if kind != "null"])
    return ValueError(f"`{field.name}` has to be {kinds}, found `{shown(value, 80)}`")


def _usable_number(field: Field, value: Any) -> float:
    try:
        result = number(value)
    except Unresolved:
        raise _unusable(field, value) from None
    is_whole = isinstance(result, int) or result.is_integer()
    is_blank = isinstance(value, str) and not value.strip()
    if is_blank or isinstance(value, bool) or not (is_whole or "number" in field.kinds):
        raise _unusable(field, value)
    if not _is_within(field, result):
        raise ValueError(f"`{field.name}` has to be {limits(field)}, found `{shown(value, 80)}`")
    return int(result) if is_whole and isinstance(result, float) else result


def _refuse_text(field: Field, value: str) -> None:
    """Refuse a blank text where there has to be one, and a choice that there is not. No text means the default."""
    if field.shortest and not value.strip():
        raise ValueError(f"`{field.name}` is blank")
    if field.choices and value not in field.choices and (value or field.required):
        choices = " or ".join(f"`{choice}`" for choice in field.choices)
        raise ValueError(f"`{field.name}` has to be {choices}, found `{shown(value, 40)}`")


def _usable_items(field: Field, items: list[Any]) -> list[Any]:
    if len(items) < field.shortest:
        raise ValueError(f"`{field.name}` is empty")
    return [_usable_item(field, item) for item in items] if field.items or field.item is not None else items


def _usable_item(field: Field, item: Any) -> Any:
    kinds: tuple[ValueKind, ...] = ("mapping",) if field.item is not None else field.items
    if item is None or (len(kinds) == 1 and not isinstance(item, _PYTHON[kinds[0]])):
        raise ValueError(f"an item of `{field.name}` has to be {noun(kinds)}, found `{shown(item, 80)}`")
    if field.item is None:
        return as_text(item) if kinds == ("text",) else item
    try:
        return usable(field.item.fields, item)
    except ValueError as error:
        raise ValueError(f"in an item of `{field.name}`, {error}") from None


def plain_data(node: TreeNode) -> Any:
    """A node as plain data, with `LATER` for values that are not known yet."""
    if node.kind == "mapping":
        return {name: plain_data(child) for name, child in node.value.items()}
    if node.kind == "list":
        return [plain_data(item) for item in node.value]
    return LATER if node.kind == "later" else node.value


def has_later(value: Any) -> bool:
    """True if a part of plain data is not known yet."""
    if isinstance(value, dict):
        return any(map(has_later, value.values()))
    return any(map(has_later, value)) if isinstance(value, list) else isinstance(value, Later)


def value_of(field: Field, node: TreeNode) -> Any:
    """The value of a field in a file without expressions. Non-blank text is stripped; items become text."""
    if node.kind == "text":
        return node.value.strip() if field.shortest else node.value
    if node.kind == "list" and "text" in field.items:
        return [node_text(item) for item in node.value]
    return plain_data(node)


def node_at(node: TreeNode, path: tuple[str | int, ...]) -> TreeNode:
    """The node at a path of keys and indexes, or the last existing node on this path."""
    for part in path:
        if node.kind not in ("mapping", "list"):
            break
        try:
            node = node.value[part]
        except (KeyError, IndexError, TypeError):
            break
    return node
