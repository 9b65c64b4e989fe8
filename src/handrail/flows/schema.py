"""The JSON Schema of a flow file, for editors: the tables of `spec` and the params of each node and check. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.contracts import Check, Node
from handrail.expressions.syntax import ARITHMETIC, CONDITIONS, PAIRS, VALUE_FORMS, VALUES, Form
from handrail.flows.spec import (
    ANY_SCHEMA,
    BLOCK,
    EXPECTATION,
    FLOW,
    GROUP,
    OUTPUT,
    PARAM,
    PHASE,
    STEP,
    TEST_SCHEMA,
    VALUE_SCHEMA,
)
from handrail.source.fields import NOT_BLANK, json_schema
from handrail.source.given import plain
from handrail.source.kinds import exactly, kinds_schema
from handrail.source.simpleyaml import read_yaml

_REFERENCE = {"type": "string", "pattern": r"\$\{"}


def flow_schema(nodes: Mapping[str, Node], checks: Mapping[str, Check]) -> dict[str, Any]:
    """The schema. The params of each node are in `definitions`, as `params:NAME`."""
    usable = {name: check for name, check in checks.items() if "expect" in check.places}
    definitions = {
        "value": _value(),
        "any": _any(),
        "test": _test(),
        "condition": {"anyOf": [{"type": "boolean"}, TEST_SCHEMA]},
        "param": _param(),
        "output": _output(),
        "entry": _entry(),
        "step": _step(nodes),
        "expectation": kinds_schema(usable, EXPECTATION, VALUE_SCHEMA),
        **{_params_name(name): params_schema(node) for name, node in nodes.items()},
    }
    return {**json_schema(FLOW), "definitions": definitions}


def _value() -> dict[str, Any]:
    """A value that is known only when the flow runs: text with a reference in it, or a mapping of a known form."""
    forms = [{"required": [form]} for form in VALUE_FORMS]
    return {"anyOf": [_REFERENCE, {"type": "object", "properties": _forms(VALUES), "anyOf": forms}]}


def _any() -> dict[str, Any]:
    """Any value. A mapping with a single key has to be a form."""
    plain_ = {"type": ["string", "number", "boolean", "null", "array"]}
    return {"anyOf": [plain_, VALUE_SCHEMA, {"type": "object", "minProperties": 2}]}


def _test() -> dict[str, Any]:
    """A condition that is not simply true or false."""
    forms = [{"required": [form]} for form in CONDITIONS]
    return {"anyOf": [_REFERENCE, {"type": "object", "properties": _forms(CONDITIONS), "anyOf": forms}]}


def _forms(table: Mapping[str, Form]) -> dict[str, Any]:
    return {
        name: {"description": form.about, "examples": [_example(name, form)], **_count(name)}
        for name, form in table.items()
    }


def _count(name: str) -> dict[str, Any]:
    """How many values a form takes, if it takes a list."""
    if name in PAIRS or ARITHMETIC.get(name) == 2:
        return {"type": "array", "minItems": 2, "maxItems": 2, "items": ANY_SCHEMA}
    if name == "default":
        return {"type": "array", "minItems": 2, "items": ANY_SCHEMA}
    return {"type": "array", "items": ANY_SCHEMA} if name in ARITHMETIC else {}


def _example(name: str, form: Form) -> Any:
    """The value of a form's key in its example."""
    tree, _ = read_yaml(form.example)
    assert tree is not None
    return plain(tree.value[name])


def _param() -> dict[str, Any]:
    """A parameter is declared by a mapping, or has a default value of any other kind."""
    return {"anyOf": [{"type": ["string", "number", "boolean", "null", "array"]}, json_schema(PARAM)]}


def _output() -> dict[str, Any]:
    """A file that a step makes: its path, or a mapping. A mapping of a form, without `path`, is a path, too."""
    path = {"type": "string", "pattern": NOT_BLANK}
    form = {"type": "object", "not": {"required": ["path"]}, "anyOf": [{"required": [form]} for form in VALUE_FORMS]}
    return {"anyOf": [path, json_schema(OUTPUT), form]}


def _entry() -> dict[str, Any]:
    """A phase, a repeat or a parallel block, told apart by their keys. The common keys are here for editors."""
    keys = {"repeat": BLOCK, "parallel": GROUP, "phases": BLOCK}
    block = {"required": ["parallel", "phases"], "not": {"required": ["steps"]}}
    return {
        "type": "object",
        "description": "a phase, a repeat or a parallel block",
        "properties": {name: {"description": where.by_name[name].about} for name, where in keys.items()},
        "if": {"required": ["repeat"]},
        "then": json_schema(BLOCK),
        "else": {"if": block, "then": json_schema(GROUP), "else": json_schema(PHASE)},
    }


def _step(nodes: Mapping[str, Node]) -> dict[str, Any]:
    step = json_schema(STEP)
    abouts = [node.about for node in nodes.values()]
    step["properties"]["node"] |= {"enum": list(nodes), "enumDescriptions": abouts}
    step["allOf"] = [_node_rule(name, node) for name, node in nodes.items()]
    return step


def _node_rule(name: str, node: Node) -> dict[str, Any]:
    """What a step that uses this node has to look like."""
    needs = ["params"] if any(field.required for field in node.params) else []
    needs += ["prompt"] if node.prompt == "required" else []
    params = {"$ref": f"#/definitions/{_pointer(_params_name(name))}"}
    then: dict[str, Any] = {"properties": {"params": params}, "required": needs}
    if node.prompt == "forbidden":
        then["properties"]["prompt"] = False
    if not node.routed:
        then["properties"]["routingGroup"] = False
    if node.must_route:
        named = [{"required": ["params"], "properties": {"params": {"required": [one]}}} for one in node.must_route]
        then["anyOf"] = [{"required": ["routingGroup"]}, *named]
    return {"if": {"properties": {"node": {"pattern": exactly(name)}}, "required": ["node"]}, "then": then}


def _params_name(node: str) -> str:
    return f"params:{node}"


def _pointer(name: str) -> str:
    """A name as a part of a JSON pointer: the node of a plugin has a slash in its name."""
    return name.replace("~", "~0").replace("/", "~1")


def params_schema(node: Node) -> dict[str, Any]:
    """The schema of a node's params. Each may also be a value that is known only when the flow runs."""
    others: Any = {"refused": False, "ignored": True, "used": ANY_SCHEMA}[node.others]
    return {**json_schema(node.shape, VALUE_SCHEMA), "additionalProperties": others}
