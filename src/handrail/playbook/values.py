"""Reads values of a playbook's files that several places share: lists of texts, whole numbers, nested mappings."""

from __future__ import annotations

from handrail.source.fields import Reader, Shape, found, quoted
from handrail.source.yamltree import Node


def child(reader: Reader, name: str, shape: Shape) -> Reader | None:
    """A mapping inside a mapping, ready to be read. None if it is missing or invalid."""
    node = reader.child(name)
    return None if node is None else Reader(reader.source, node, shape, reader.report)


def texts(reader: Reader, name: str) -> tuple[Node, ...] | None:
    """The items of a list of texts, each with its place. None if the list is missing or invalid."""
    node = reader.child(name)
    if node is None:
        return None
    items: list[Node] = []
    for item in node.value:
        if item.kind != "text":
            hint = "write plain text, or put it in quotes"
            reader.on(item, "wrong-type", f"an item of `{name}` has to be text, found {found(item)}", hint)
        elif not item.value.strip():
            reader.on(item, "blank-text", f"an item of `{name}` is blank", "fill it in, or remove it")
        else:
            items.append(item)
    return tuple(items)


def count(reader: Reader, name: str) -> int | None:
    """A whole number, 0 or more. None if it is missing or invalid."""
    node = reader.child(name)
    if node is None:
        return None
    if node.value < 0:
        hint = f"`{name}` means: {reader.shape.by_name[name].about}"
        reader.on(node, "bad-value", f"`{name}` has to be 0 or more, found {quoted(node)}", hint)
        return None
    return int(node.value)
