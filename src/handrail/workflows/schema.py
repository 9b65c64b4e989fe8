"""The JSON Schema of a phase file, for editors: the fields of `spec`, with the params of every check. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.contracts import Check
from handrail.source.fields import json_schema
from handrail.source.kinds import kinds_schema
from handrail.workflows.keys import EXIT, PHASE


def phase_schema(checks: Mapping[str, Check]) -> dict[str, Any]:
    usable = {name: check for name, check in checks.items() if "exit" in check.places}
    return {**json_schema(PHASE), "$defs": {"check": kinds_schema(usable, EXIT)}}
