"""The JSON Schema of `plugin.toml`, for editors. Pure."""

from __future__ import annotations

from typing import Any

from handrail.plugins.manifest import CONTRACTS, FOLDERS, ID, MODULE, NAME, PARTS

_ABOUT = {
    "nodes": "the nodes of flows that the plugin brings: name = module",
    "checks": "the checks that the plugin brings: name = module",
    "engines": "the engines that the plugin brings: name = module",
}
_PARTS = {
    "host": "the module with which the agent calls Handrail",
    "executor": "the module with which Handrail calls the agent",
    "tools": "the module with the names of the agent's tools",
    "offline": "the module that runs the agent against a scripted model",
}
_TEXTS = {"type": "array", "items": {"type": "string", "minLength": 1}}


def manifest_schema() -> dict[str, Any]:
    """The schema of a `plugin.toml`."""
    long_form = _table(
        {
            "module": _module("the module of the node", "nodes.deploy"),
            "also": {**_TEXTS, "description": "other names of the node", "examples": [["deploy-to-acme"]]},
        },
        ["module"],
    )
    node = {"anyOf": [_module("the module of the node", "nodes.deploy"), long_form]}
    rows = {
        name: _named(about, node if name == "nodes" else _module("a module", "checks.healthy"))
        for name, about in _ABOUT.items()
    }
    folders = {name: _text(f"the folder with {name}", default=name) for name in FOLDERS}
    properties = {
        "version": _text("the version of the plugin", examples=["1.0"]),
        "contract": {
            "enum": list(CONTRACTS),
            "description": "the version of `handrail.contracts` that the plugin is written for",
        },
        "id": {**_text("the id; by default the name of the folder", examples=["acme"]), "pattern": f"^{ID.pattern}$"},
        "about": _text("what the plugin is for", examples=["Deploys to Acme."]),
        **rows,
        "agents": _named("the agents that the plugin brings", _agent()),
        "folders": {**_table(folders), "description": "where the plugin has its definitions"},
    }
    return _table(properties, ["version", "contract"])


def _agent() -> dict[str, Any]:
    signs = {
        "variables": {
            **_TEXTS,
            "description": "variables that the agent sets for what it starts",
            "examples": [["ACME_ROBOT"]],
        },
        "programs": {**_TEXTS, "description": "names of the agent's program", "examples": [["acme-robot"]]},
    }
    known = {part: _module(_PARTS[part], f"robot.{part}") for part in PARTS}
    return _table({**known, "signs": {**_table(signs), "description": "how a process knows that the agent started it"}})


def _named(about: str, value: dict[str, Any]) -> dict[str, Any]:
    rows = {f"^{NAME.pattern}$": value}
    return {"type": "object", "description": about, "patternProperties": rows, "additionalProperties": False}


def _table(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    found = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": required} if required else found


def _text(about: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "description": about, **more}


def _module(about: str, example: str) -> dict[str, Any]:
    pattern = MODULE.pattern.replace(r"\w", "[A-Za-z0-9_]")
    return {"type": "string", "pattern": f"^{pattern}$", "description": about, "examples": [example]}
