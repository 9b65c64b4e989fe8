"""The JSON Schema of a settings file, for editors: the table of `keys`, with the agents that routes may name. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from handrail.settings.keys import SETTINGS
from handrail.source.fields import json_schema


def settings_schema(agents: Iterable[str]) -> dict[str, Any]:
    """The schema. The agents are examples and no choices: a route may have a model, and users may add agents."""
    schema = json_schema(SETTINGS)
    keys, examples = schema["properties"], {"examples": list(agents)}
    keys["agent"] |= examples
    keys["routes"] = _with_examples(keys["routes"], examples)
    for name in ("presets", "flows"):
        keys[name]["additionalProperties"] = _with_examples(keys[name]["additionalProperties"], examples)
    return schema


def _with_examples(routes: dict[str, Any], examples: dict[str, Any]) -> dict[str, Any]:
    return {**routes, "properties": {name: route | examples for name, route in routes["properties"].items()}}
