"""Files that a step is held to: those that it says it makes, and those that have to fit a schema. Pure."""

from __future__ import annotations

import re

from handrail.expressions.parse import Expressions, key_place
from handrail.expressions.syntax import VALUE_FORMS
from handrail.expressions.tree import Const, Expression, Items, Object
from handrail.flows.plan import Output
from handrail.flows.reading import Reading
from handrail.flows.spec import OUTPUT
from handrail.source.fields import Reader, found
from handrail.source.suggest import did_you_mean
from handrail.source.yamltree import Node

_VERSIONED = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*/v[0-9]+")
_ITEM = ("path", "schemaId")


def outputs(flow: Reading, reader: Reader, expressions: Expressions) -> tuple[Output, ...]:
    """The `makes` of a step: a path each, or a mapping with `path` and more."""
    node = reader.child("makes")
    return tuple(_output(flow, item, expressions) for item in node.value) if node is not None else ()


def _output(flow: Reading, node: Node, expressions: Expressions) -> Output:
    if node.kind == "mapping" and ("path" in node.value or not any(form in node.value for form in VALUE_FORMS)):
        reader = flow.reader(node, OUTPUT)
        path, name, schema = reader.child("path"), reader.text("name"), reader.child("schema")
        if schema is not None:
            _check_own(flow, schema, expressions.fill(schema.value))
        return Output(
            _path(flow, path, expressions) if path is not None else Const(None),
            None if name is None else expressions.fill(name),
            None if schema is None else expressions.fill(schema.value),
            reader.flag("required", True),
        )
    if node.kind not in ("text", "mapping"):
        message = f"an item of `makes` has to be a path or a mapping, found {found(node)}"
        flow.problem(node, "wrong-type", message, "write the path of a file, or `{path: ..., schema: ...}`")
        return Output(Const(None))
    return Output(_path(flow, node, expressions))


def _path(flow: Reading, node: Node, expressions: Expressions) -> Expression:
    if node.kind == "text" and not node.value.strip():
        flow.problem(node, "blank-text", "the path is blank", "write where the file is")
    return expressions.value(node)


def structured(flow: Reading, node: Node, expressions: Expressions) -> Expression:
    """The `items` of `require-structured-artifacts`: `{path, schemaId}` each, or a value that comes to that."""
    if node.kind != "list":
        return expressions.value(node)
    return Items("list", tuple(_item(flow, item, expressions) for item in node.value))


def _item(flow: Reading, node: Node, expressions: Expressions) -> Expression:
    members: dict[str, Node] = node.value if node.kind == "mapping" else {}
    missing = [name for name in _ITEM if name not in members]
    if missing:
        if node.kind == "text" or any(form in members for form in VALUE_FORMS):
            return expressions.value(node)
        hint = "write `{path: PATH, schemaId: NAME}`"
        flow.problem(node, "missing-key", f"an item of `items` needs `{missing[0]}`", hint)
        return Const(None)
    for name, place in node.keys.items():
        if name not in _ITEM:
            hint = did_you_mean(name, _ITEM) or f"known here: {', '.join(_ITEM)}"
            at = key_place(flow.source, name, place)
            flow.report(flow.source.problem("unknown-key", at, f"unknown key `{name}`", hint, "warning"))
    return Object(_ITEM, (expressions.value(members["path"]), _schema(flow, members["schemaId"], expressions)))


def _schema(flow: Reading, node: Node, expressions: Expressions) -> Expression:
    """The id of a schema; one that is no reference is looked up."""
    value = expressions.value(node)
    if isinstance(value, Const):
        if not isinstance(value.value, str):
            if node.kind != "mapping" or "const" in node.value:
                flow.problem(node, "wrong-type", f"`schemaId` has to be text, found {found(node)}", "write its name")
        elif _VERSIONED.fullmatch(value.value):
            _check_contract(flow, node, value.value)
        else:
            _check_own(flow, node, value.value)
    return value


def _check_contract(flow: Reading, node: Node, name: str) -> None:
    """`plan/v1`: a schema that others rely on too, so it has to be known."""
    known = flow.known.schemas
    if known and name not in known:
        hint = flow.suggestions.near(name, known) or f"known: {', '.join(sorted(known)[:8])}, …"
        flow.problem(node, "schema-unknown", f"there is no schema `{name}`", hint)


def _check_own(flow: Reading, node: Node, name: str) -> None:
    """Any other schema may be the project's own."""
    known = flow.known.schemas
    if known and name not in known:
        hint = flow.suggestions.near(name, known) or f"write it as `.handrail/schemas/{name}.json`"
        flow.problem(node, "schema-file", f"no schema `{name}` is known here", hint, "warning")
