"""Values of declared params: their expressions, and the values that are known at load. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.expressions.parse import Expressions
from handrail.expressions.syntax import form_of
from handrail.expressions.tree import Const, Expression, Items, Object
from handrail.source.fields import Field, Shape
from handrail.source.given import LATER
from handrail.source.yamltree import Node


def read_values(members: Mapping[str, Node], shape: Shape, expressions: Expressions) -> dict[str, Expression]:
    """The expression of every param."""
    return {name: _expression(shape.by_name.get(name), node, expressions) for name, node in members.items()}


def _expression(field: Field | None, node: Node, expressions: Expressions) -> Expression:
    """The expression of a param. If its field is declared as a mapping, it is an object even with a single key."""
    if field is not None and field.is_data and not _stands_for_data(node):
        return _data(node, expressions)
    if field is not None and _is_object(field, node):
        return _object(node, expressions, None)
    if field is not None and node.kind == "list" and _holds_mappings(field):
        items = [
            _object(item, expressions, field.item) if _is_plain_mapping(item) else expressions.value(item)
            for item in node.value
        ]
        return Items("list", tuple(items))
    return expressions.value(node)


def _stands_for_data(node: Node) -> bool:
    """True for an expression in place of data: its form is the only key, and `const` holds all of the data."""
    form = form_of(node.value) if node.kind == "mapping" and len(node.value) == 1 else None
    return form is not None and (form != "const" or node.value[form].kind == "mapping")


def _data(node: Node, expressions: Expressions) -> Expression:
    """Data as it is written. Only `${...}` in text and `ref: PATH` alone are references."""
    if node.kind == "list":
        return Items("list", tuple(_data(item, expressions) for item in node.value))
    if node.kind != "mapping" or _is_reference(node):
        return expressions.value(node)
    return Object(tuple(node.value), tuple(_data(child, expressions) for child in node.value.values()))


def _is_reference(node: Node) -> bool:
    return list(node.value) == ["ref"] and node.value["ref"].kind == "text"


def _object(node: Node, expressions: Expressions, shape: Shape | None) -> Expression:
    members = {name: child for name, child in node.value.items() if shape is None or name in shape.by_name}
    return Object(tuple(members), tuple(expressions.value(child) for child in members.values()))


def _is_object(field: Field, node: Node) -> bool:
    return field.kinds == ("mapping",) and _is_plain_mapping(node)


def _holds_mappings(field: Field) -> bool:
    return field.item is not None or field.items == ("mapping",)


def _is_plain_mapping(node: Node) -> bool:
    return node.kind == "mapping" and form_of(node.value) is None


def plain_of(expression: Expression) -> Any:
    """The value of an expression as far as the file has it, with `LATER` for the rest."""
    if isinstance(expression, Const):
        return expression.value
    if isinstance(expression, Object):
        return {name: plain_of(part) for name, part in zip(expression.names, expression.parts, strict=True)}
    is_list = isinstance(expression, Items) and expression.rule == "list"
    return [plain_of(part) for part in expression.parts] if is_list else LATER


def settled(node: Node, shape: Shape) -> Node:
    """The params of a step as plain nodes. A node has the kind `later` if only the run knows its value."""
    values = {}
    for name, child in node.value.items():
        field = shape.by_name.get(name)
        if field is not None and field.is_data and not _stands_for_data(child):
            values[name] = _known_data(child)
        elif field is not None and _is_object(field, child):
            values[name] = _mapping(child)
        elif field is not None and child.kind == "list" and _holds_mappings(field):
            items = [_mapping(i) if _is_plain_mapping(i) else _known(i) for i in child.value]
            values[name] = child._replace(value=items)
        else:
            values[name] = _known(child)
    return node._replace(value=values)


def _known(node: Node) -> Node:
    if node.kind == "text":
        return node._replace(kind="later") if "${" in node.value else node
    if node.kind == "list":
        return node._replace(value=[_known(item) for item in node.value])
    if node.kind != "mapping":
        return node
    form = form_of(node.value)
    if form is None and len(node.value) > 1:
        return _mapping(node)
    inner: Node | None = node.value.get(form) if form is not None else None
    if form == "const" and inner is not None:
        return inner
    if form == "list" and inner is not None and inner.kind == "list":
        return _known(inner)
    if form == "object" and inner is not None and inner.kind == "mapping":
        return _mapping(inner)
    return node._replace(kind="later")


def _known_data(node: Node) -> Node:
    if node.kind == "list":
        return node._replace(value=[_known_data(item) for item in node.value])
    if node.kind != "mapping" or _is_reference(node):
        return _known(node)
    return node._replace(value={name: _known_data(child) for name, child in node.value.items()})


def _mapping(node: Node) -> Node:
    return node._replace(value={name: _known(child) for name, child in node.value.items()})
