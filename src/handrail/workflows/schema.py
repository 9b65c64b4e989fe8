"""The JSON Schemas of the files of a workflow, for editors: the tables of `keys` and the params of checks. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.contracts import Check
from handrail.source.fields import NOT_BLANK, json_schema
from handrail.source.kinds import kinds_schema
from handrail.workflows.keys import COMMAND_NAME, EXIT, PHASE, WORKFLOW

_HIDDEN = {"properties": {"show": {"const": "workflows"}}, "required": ["show"]}


def workflow_schema() -> dict[str, Any]:
    """The schema of `workflow.yaml`. A workflow that people start needs more than one that runs inside others."""
    started = {
        "required": ["commandName", "initialMessage"],
        "properties": {
            "commandName": {"pattern": f"^[{COMMAND_NAME}]+$"},
            "initialMessage": {"pattern": NOT_BLANK},
        },
    }
    return {**json_schema(WORKFLOW), "if": _HIDDEN, "else": started}


def phase_schema(checks: Mapping[str, Check]) -> dict[str, Any]:
    usable = {name: check for name, check in checks.items() if "exit" in check.places}
    return {**json_schema(PHASE), "definitions": {"check": kinds_schema(usable, EXIT)}}
