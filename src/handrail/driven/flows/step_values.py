"""Reads the values in a step: params, the checks of `expect`, and the files of `makes`. Pure.

Each value is an expression; values that are known at load are checked. So are the names of schemas and workflows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from handrail.driven.expressions.parser import VALUE_FORMS, ExpressionReader, form_of
from handrail.driven.expressions.tree import Const, Expression, Items, Object
from handrail.driven.flows.keys import EXPECTATION, MADE_FILE
from handrail.driven.flows.load_state import LoadState
from handrail.driven.flows.plan import Expectation, MadeFile
from handrail.extensions.contracts import Check
from handrail.source.diagnostics import Diagnostic
from handrail.source.field_checks import LATER, TextCheck, check_fields, leads_out
from handrail.source.fields import (
    KIND,
    ChosenKind,
    Field,
    MappingReader,
    Shape,
    choose_kind,
    found,
    kinds_with_short_form,
    meant_key,
    meant_kind,
    quoted,
    several_kinds_message,
    short_forms,
    unknown_key,
)
from handrail.source.suggestions import did_you_mean
from handrail.source.tree import TreeNode
from handrail.source.values import shown


def read_values(members: Mapping[str, TreeNode], shape: Shape, expressions: ExpressionReader) -> dict[str, Expression]:
    return {name: _expression(shape.by_name.get(name), node, expressions) for name, node in members.items()}


def _expression(field: Field | None, node: TreeNode, expressions: ExpressionReader) -> Expression:
    """The expression of a param. If its field is declared as a mapping, it is an object even with a single key."""
    if field is not None and field.is_data:
        form = form_of(node.value) if node.kind == "mapping" and len(node.value) == 1 else None
        if form is None or (form == "const" and node.value[form].kind != "mapping"):  # it is no expression for data
            return _data(node, expressions)
    if field is not None and field.kinds == ("mapping",) and _is_plain_mapping(node):
        return _object(node, expressions, None)
    if field is not None and node.kind == "list" and (field.item is not None or field.items == ("mapping",)):
        items = (
            _object(item, expressions, field.item) if _is_plain_mapping(item) else expressions.value(item)
            for item in node.value
        )
        return Items("list", tuple(items))
    return expressions.value(node)


def _data(node: TreeNode, expressions: ExpressionReader) -> Expression:
    """Data as it is written. Only `${...}` in text and `ref: PATH` alone are references."""
    if node.kind == "list":
        return Items("list", tuple(_data(item, expressions) for item in node.value))
    is_reference = node.kind == "mapping" and list(node.value) == ["ref"] and node.value["ref"].kind == "text"
    if node.kind != "mapping" or is_reference:
        return expressions.value(node)
    return Object(tuple(node.value), tuple(_data(child, expressions) for child in node.value.values()))


def _object(node: TreeNode, expressions: ExpressionReader, shape: Shape | None) -> Expression:
    """The object of a mapping. If it has a shape, the other keys are left out."""
    members = {name: child for name, child in node.value.items() if shape is None or name in shape.by_name}
    return Object(tuple(members), tuple(expressions.value(child) for child in members.values()))


def _is_plain_mapping(node: TreeNode) -> bool:
    return node.kind == "mapping" and form_of(node.value) is None


def plain_of(expression: Expression) -> Any:
    """The value of an expression as far as the file has it, with `LATER` for the rest."""
    if isinstance(expression, Const):
        return expression.value
    if isinstance(expression, Object):
        return {name: plain_of(part) for name, part in zip(expression.names, expression.values, strict=True)}
    if isinstance(expression, Items) and expression.rule == "list":
        return [plain_of(part) for part in expression.items]
    return LATER


def plain_params(node: TreeNode, params: Mapping[str, Expression]) -> TreeNode:
    """The params of a step as plain nodes. A node has the kind `later` if only the run knows its value."""
    return node._replace(value={name: _plain_node(child, params[name]) for name, child in node.value.items()})


def _plain_node(node: TreeNode, expression: Expression) -> TreeNode:
    """The node of a value. That of a form such as `{list: [...]}` is the node inside of the form."""
    if node.kind == "text" and "${" in node.value:
        return node._replace(kind="later")
    if node.kind == "list" and isinstance(expression, Items):
        return node._replace(value=[_plain_node(*pair) for pair in zip(node.value, expression.items, strict=True)])
    if node.kind != "mapping":
        return node
    form = form_of(node.value)
    if isinstance(expression, Object) and (form != "object" or expression.names == ("object",)):
        parts = dict(zip(expression.names, expression.values, strict=True))
        known = {name: _plain_node(node.value[name], part) for name, part in parts.items()}
        return node._replace(value=node.value | known)
    inner: TreeNode | None = None if form is None else node.value[form]
    if inner is not None and form == "const":
        return inner
    if inner is not None and (form, inner.kind) in (("object", "mapping"), ("list", "list")):
        return _plain_node(inner, expression)
    return node._replace(kind="later")


_VERSIONED = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*/v[0-9]+")


def read_makes(flow: LoadState, reader: MappingReader, expressions: ExpressionReader) -> tuple[MadeFile, ...]:
    """The `makes` of a step. Each item is a path, or a mapping with `path` and other keys."""
    node = reader.child("makes")
    return tuple(_made_file(flow, item, expressions) for item in node.value) if node is not None else ()


def _made_file(flow: LoadState, node: TreeNode, expressions: ExpressionReader) -> MadeFile:
    if node.kind == "mapping" and ("path" in node.value or not any(form in node.value for form in VALUE_FORMS)):
        reader = flow.reader(node, MADE_FILE)
        path, name, schema = reader.child("path"), reader.text("name"), reader.child("schema")
        if schema is not None:
            _check_schema(flow, schema, expressions.fill(schema.value))
        return MadeFile(
            _path(flow, path, expressions) if path is not None else Const(None),
            None if name is None else expressions.fill(name),
            None if schema is None else expressions.fill(schema.value),
            reader.flag("required", True),
        )
    if node.kind not in ("text", "mapping"):
        message = f"an item of `makes` has to be a path or a mapping, found {found(node)}"
        flow.problem(node, "wrong-type", message, "write the path of a file, or `{path: ..., schema: ...}`")
        return MadeFile(Const(None))
    return MadeFile(_path(flow, node, expressions))


def _path(flow: LoadState, node: TreeNode, expressions: ExpressionReader) -> Expression:
    if node.kind == "text" and not node.value.strip():
        flow.problem(node, "blank-text", "the path is blank", "write the path of the file")
    path = expressions.value(node)
    if isinstance(path, Const) and isinstance(path.value, str):
        _check_path(flow, node, path.value, "the path")
    return path


def _check_path(flow: LoadState, node: TreeNode, path: str, what: str) -> None:
    """A path out of the project would fail the step when it runs, for `makes` after its work is done."""
    if leads_out(path) or flow.resources.is_elsewhere(path):
        message = f"{what} leads out of the project: `{shown(path, 40)}`"
        flow.problem(node, "path-escape", message, "write a path inside the project")


def _check_schema(flow: LoadState, node: TreeNode, name: str, *, is_versioned: bool = False) -> None:
    """A schema that is unknown or cannot be used would fail the step after its work is done.

    Other flows rely on a versioned one, like `plan/v1`. Any other one has to be a file of the project.
    """
    known = flow.resources.schemas
    if name in known:
        if (wrong := flow.resources.schema_problem(name)) is not None:
            message = f"the schema `{name}` cannot be used: {wrong}"
            flow.problem(node, "schema-broken", message, f"correct `.handrail/schemas/{name}.json`")
    elif known and is_versioned:
        hint = flow.suggestions.near(name, known) or f"known: {', '.join(sorted(known)[:8])}, …"
        flow.problem(node, "schema-unknown", f"there is no schema `{name}`", hint)
    elif known:
        bare = name.removesuffix(".json")
        alike = [id_ for id_ in known if id_ == bare or id_.startswith(f"{bare}/")]
        own = [id_ for id_ in known if "/" not in id_]  # a longer name of ours is hardly meant by a file of the project
        near = f"did you mean `{alike[0]}`?" if alike else flow.suggestions.near(name, own)
        rename_hint = "" if bare == name else f", and name it `{bare}`"
        hint = near or f"write it as `.handrail/schemas/{bare}.json`{rename_hint}"
        flow.problem(node, "schema-file", f"there is no schema `{name}` in this project", hint)


def look_up(flow: LoadState) -> TextCheck:
    """A function that reports schemas, workflows and agents that do not exist, and paths outside of the project."""

    def look(reader: MappingReader, field: Field, node: TreeNode) -> None:
        del reader
        if field.names == "schema":
            _check_schema(flow, node, node.value, is_versioned=bool(_VERSIONED.fullmatch(node.value)))
        elif field.names == "workflow" and (wrong := flow.resources.workflow_problem(node.value)) is not None:
            message, hint, broken_file = wrong
            if broken_file is None:
                flow.problem(node, "workflow-missing", message, hint)
                return
            message = f"workflow {quoted(node)} has errors, so this flow cannot be used"
            flow.report(flow.source.echo(node.place, message, f"fix {quoted(node)} first", broken_file))
        elif field.names == "agent" and (hint := flow.resources.agent_hint(node.value)) is not None:
            flow.problem(node, "bad-value", f"there is no agent {quoted(node)}", hint)
        elif field.names == "path":
            _check_path(flow, node, node.value, f"`{field.name}`")

    return look


COMMON = tuple(field.name for field in EXPECTATION)


def read_expectations(
    flow: LoadState, reader: MappingReader, expressions: ExpressionReader
) -> tuple[Expectation, ...] | None:
    """The `expect` of a step. None if the step has no such key."""
    node = reader.child("expect")
    if node is None:
        return None
    checks = {name: check for name, check in flow.resources.checks.items() if "expect" in check.places}
    chosen = chosen_kinds(flow, node, checks, "expectation", COMMON)
    return tuple(_expectation(flow, item, kind, expressions) for item, kind in chosen)


def chosen_kinds(
    flow: LoadState, node: TreeNode, kinds: Mapping[str, Check], noun: str, common: Sequence[str] = ("when",)
) -> Iterator[tuple[TreeNode, ChosenKind]]:
    """The valid items of the list: mappings of a known kind with all required keys. Reports the others."""
    for item in node.value:
        chosen = _kind(flow, item, kinds, noun)
        if chosen is None:
            continue
        missing = [field.name for field in chosen.shape.fields if field.required and field.name not in item.value]
        if missing:
            beside = KIND if chosen.short is None else chosen.kind
            place = item.value[beside]
            hint = f"add `{missing[0]}:` beside `{beside}`"
            flow.problem(place, "missing-key", f"`{chosen.kind}` needs `{missing[0]}`", hint)
            continue
        if kinds[chosen.kind].takes_any:
            flow.unusable(chosen.kind, item)
        else:
            kind = (KIND,) if chosen.short is None else ()
            allowed = (*kind, *chosen.shape.by_name, *common)
            for name in (key for key in item.keys if key not in allowed):
                flow.report(unknown_key(flow.source, name, item.keys[name], allowed))
        yield item, chosen


def _kind(flow: LoadState, item: TreeNode, kinds: Mapping[str, Check], noun: str) -> ChosenKind | None:
    known, unknown = "known: " + ", ".join(kinds), f"{noun}-unknown"
    if item.kind != "mapping":
        flow.problem(item, "wrong-type", f"an {noun} has to be a mapping, found {found(item)}", known)
        return None
    kind, shorts = item.value.get(KIND), short_forms(item, kinds)
    if kind is None and len(shorts) == 1:
        return choose_kind(shorts[0], kinds[shorts[0]], is_short=True)
    if kind is None and shorts:
        hint = "write each one as a separate list item"
        flow.problem(item.value[shorts[1]], unknown, several_kinds_message(shorts), hint)
    elif kind is None:
        missing = flow.source.problem("missing-key", item.place, f"an {noun} needs `kind`", known)
        flow.report(_misspelt_kind(flow, item, kinds) or missing)
    elif kind.kind != "text":
        flow.problem(kind, "wrong-type", f"`kind` has to be text, found {found(kind)}", known)
    elif kind.value not in kinds:
        flow.problem(kind, unknown, f"there is no {noun} {quoted(kind)}", did_you_mean(kind.value, kinds) or known)
    else:
        return choose_kind(kind.value, kinds[kind.value], is_short=False)
    return None


def _misspelt_kind(flow: LoadState, item: TreeNode, kinds: Mapping[str, Check]) -> Diagnostic | None:
    """The problem of the key that should be `kind` or a short form. None if no key resembles one or means one."""
    names = [KIND, *kinds_with_short_form(kinds)]
    for name, place in item.keys.items():
        if meant_key(flow.source, name, names) is not None:
            return unknown_key(flow.source, name, place, names)
    for name, place in item.keys.items():
        if (similar := meant_kind(name, kinds)) is not None:
            key_place, message = flow.source.key_place(name, place), f"there is no expectation `{name}`"
            return flow.source.problem("expectation-unknown", key_place, message, f"did you mean `{similar}`?")
    return None


def _expectation(flow: LoadState, item: TreeNode, chosen: ChosenKind, expressions: ExpressionReader) -> Expectation:
    message, when = item.value.get("message"), item.value.get("when")
    text = expressions.fill(message.value) if message is not None and message.kind == "text" else ""
    if message is not None and message.kind != "text":
        wrong = f"`message` has to be text, found {found(message)}"
        flow.problem(message, "wrong-type", wrong, "write the text that people see if the check fails")
    members = {name: child for name, child in item.value.items() if name in chosen.shape.by_name}
    values = read_values(members, chosen.shape, expressions)
    if flow.is_first(item):
        node = plain_params(item._replace(value=members, keys={}), values)
        check_fields(MappingReader(flow.source, node, chosen.shape, flow.report), look_up(flow))
    params = {chosen.declared_name(name): value for name, value in values.items()}
    condition = expressions.condition(when) if when is not None else None
    return Expectation(chosen.kind, condition, params, text, item.place[0], flow.resources.checks[chosen.kind])
