"""The JSON Schema of a flow file, for editors: the tables of `spec` and the params of each node and check. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.contracts import Check, Node
from handrail.expressions.syntax import VALUE_FORMS
from handrail.flows.spec import EXPECTATION, FLOW, STEP
from handrail.source.fields import json_schema
from handrail.source.kinds import kinds_schema

VALUE = {"$ref": "#/$defs/value"}


def flow_schema(nodes: Mapping[str, Node], checks: Mapping[str, Check]) -> dict[str, Any]:
    """The schema. The params of each node are in `$defs`, as `params:NAME`."""
    usable = {name: check for name, check in checks.items() if "expect" in check.places}
    definitions = {
        "value": _value(),
        "step": _step(nodes),
        "expectation": kinds_schema(usable, EXPECTATION, VALUE),
        **{f"params:{name}": params_schema(node) for name, node in nodes.items()},
    }
    return {**json_schema(FLOW), "$defs": definitions}


def _value() -> dict[str, Any]:
    """A value that is known only when the flow runs: text with a reference in it, or a mapping of a known form."""
    forms = [{"required": [form]} for form in VALUE_FORMS]
    return {"anyOf": [{"type": "string", "pattern": r"\$\{"}, {"type": "object", "anyOf": forms}]}


def _step(nodes: Mapping[str, Node]) -> dict[str, Any]:
    step = json_schema(STEP)
    step["properties"]["node"] = {**step["properties"]["node"], "enum": list(nodes)}
    step["allOf"] = [_node_rule(name, node) for name, node in nodes.items()]
    return step


def _node_rule(name: str, node: Node) -> dict[str, Any]:
    """What a step that uses this node has to look like."""
    needs = ["params"] if any(field.required for field in node.params) else []
    needs += ["prompt"] if node.prompt == "required" else []
    then: dict[str, Any] = {"properties": {"params": {"$ref": f"#/$defs/params:{name}"}}, "required": needs}
    if node.prompt == "forbidden":
        then["properties"]["prompt"] = False
    if not node.routed:
        then["properties"]["routingGroup"] = False
    return {"if": {"properties": {"node": {"const": name}}, "required": ["node"]}, "then": then}


def params_schema(node: Node) -> dict[str, Any]:
    """The schema of a node's params. Each may also be a value that is known only when the flow runs."""
    return {**json_schema(node.shape, VALUE), "additionalProperties": node.others != "refused"}
