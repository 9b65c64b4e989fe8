"""What nodes of services share: JSON as bytes of a file, JSON that another step wrote, the time."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from handrail.artifacts.world import World
from handrail.contracts import NodeContext, NodeError


def json_bytes(data: Any) -> bytes:
    """JSON with 2 spaces and a final line end. Half of a surrogate pair becomes a question mark."""
    return as_bytes(json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def read_json(context: NodeContext, path: str, schema: str | None = None) -> Any:
    """The content of a JSON file, which has to match the schema. Raises `NodeError`."""
    world = World(context.project)
    text = world.text(path)
    if text is None:
        raise NodeError("inputs-missing", f"`{path}` is missing", transient=False)
    try:
        data = json.loads(text)
    except RecursionError:
        raise NodeError("inputs-invalid", f"`{path}` is nested too deeply", transient=False) from None
    except ValueError as error:
        raise NodeError("inputs-invalid", f"`{path}` is not JSON: {error}", transient=False) from error
    wrong = None if schema is None else world.against_schema(path, schema)
    if wrong is not None:
        raise NodeError("inputs-invalid", wrong, transient=False)
    return data


def now_text() -> str:
    """This moment in UTC, with milliseconds: `2026-01-31T12:00:00.000Z`."""
    return f"{datetime.now(UTC).isoformat(timespec='milliseconds').removesuffix('+00:00')}Z"
