"""Reads the files that a step makes (`makes`), and checks names of schemas and workflows. Pure."""

from __future__ import annotations

import re

from handrail.expressions.parse import Expressions, place_of
from handrail.expressions.syntax import VALUE_FORMS
from handrail.expressions.tree import Const, Expression
from handrail.flows.plan import Output
from handrail.flows.reading import Reading
from handrail.flows.spec import OUTPUT
from handrail.source.fields import Field, Reader, found, quoted
from handrail.source.given import Look, leads_out
from handrail.source.values import shown
from handrail.source.yamltree import Node

_VERSIONED = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*/v[0-9]+")


def outputs(flow: Reading, reader: Reader, expressions: Expressions) -> tuple[Output, ...]:
    """The `makes` of a step. Each item is a path, or a mapping with `path` and other keys."""
    node = reader.child("makes")
    return tuple(_output(flow, item, expressions) for item in node.value) if node is not None else ()


def _output(flow: Reading, node: Node, expressions: Expressions) -> Output:
    if node.kind == "mapping" and ("path" in node.value or not any(form in node.value for form in VALUE_FORMS)):
        reader = flow.reader(node, OUTPUT)
        path, name, schema = reader.child("path"), reader.text("name"), reader.child("schema")
        if schema is not None:
            name_ = expressions.fill(schema.value)
            _check_unversioned(flow, schema, name_)
            _check_content(flow, schema, name_)
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
        flow.problem(node, "blank-text", "the path is blank", "write the path of the file")
    path = expressions.value(node)
    if isinstance(path, Const) and isinstance(path.value, str):
        _check_path(flow, node, path.value, "the path")
    return path


def _check_path(flow: Reading, node: Node, path: str, what: str) -> None:
    """A path out of the project would fail the step when it runs, for `makes` after its work is done."""
    if leads_out(path) or flow.known.is_elsewhere(path):
        message = f"{what} leads out of the project: `{shown(path, 40)}`"
        flow.problem(node, "path-escape", message, "write a path inside the project")


def _check_content(flow: Reading, node: Node, name: str) -> None:
    """A schema that cannot be used would fail the step after its work is done."""
    wrong = flow.known.schema_problem(name) if name in flow.known.schemas else None
    if wrong is not None:
        message = f"the schema `{name}` cannot be used: {wrong}"
        flow.problem(node, "schema-broken", message, f"correct `.handrail/schemas/{name}.json`")


def look_up(flow: Reading) -> Look:
    """A function that reports names of schemas and workflows that do not exist, and paths outside of the project."""

    def look(reader: Reader, field: Field, node: Node) -> None:
        del reader
        if field.names == "schema":
            (_check_versioned if _VERSIONED.fullmatch(node.value) else _check_unversioned)(flow, node, node.value)
            _check_content(flow, node, node.value)
        elif field.names == "workflow":
            _check_workflow(flow, node)
        elif field.names == "path":
            _check_path(flow, node, node.value, f"`{field.name}`")

    return look


def _check_workflow(flow: Reading, node: Node) -> None:
    wrong = flow.known.workflow_problem(node.value)
    if wrong is None:
        return
    message, hint, broken = wrong
    if broken is None:
        flow.problem(node, "workflow-missing", message, hint)
    else:
        message, hint = f"workflow {quoted(node)} has errors, so this flow cannot be used", f"fix {quoted(node)} first"
        flow.report(flow.source.echo(place_of(node), message, hint, broken))


def _check_versioned(flow: Reading, node: Node, name: str) -> None:
    """An unknown schema like `plan/v1` is an error: other flows rely on it too."""
    known = flow.known.schemas
    if known and name not in known:
        hint = flow.suggestions.near(name, known) or f"known: {', '.join(sorted(known)[:8])}, …"
        flow.problem(node, "schema-unknown", f"there is no schema `{name}`", hint)


def _check_unversioned(flow: Reading, node: Node, name: str) -> None:
    """Any other unknown schema has to be a file of the project."""
    known = flow.known.schemas
    if known and name not in known:
        bare = name.removesuffix(".json")
        near = f"did you mean `{bare}`?" if bare in known else flow.suggestions.near(name, known)
        named = "" if bare == name else f", and name it `{bare}`"
        hint = near or f"write it as `.handrail/schemas/{bare}.json`{named}"
        flow.problem(node, "schema-file", f"there is no schema `{name}` in this project", hint)
