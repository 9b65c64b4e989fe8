"""Writes the compact definitions of the transition cases as files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write(folder: Path, key: str, definition: Mapping[str, Any]) -> None:
    folder.mkdir(parents=True)
    fields: dict[str, Any] = {
        "name": definition.get("name", key.upper()),
        "commandName": definition.get("cmd", key),
        "initialMessage": definition.get("initialMessage", "begin {firstPhaseName}"),
        **{name: definition[name] for name in ("show", "loopable") if name in definition},
        **definition.get("extra", {}),
        "phases": [_entry(phase) for phase in definition["phases"]],
    }
    (folder / "workflow.yaml").write_text(_yaml(fields))
    for phase in definition["phases"]:
        if not phase.startswith("@"):
            (folder / f"{phase}.md").write_text(_phase(phase, definition.get("ph", {}).get(phase, {})))


def _entry(phase: str) -> str | dict[str, str]:
    return {"subworkflow": phase[1:]} if phase.startswith("@") else f"{phase}.md"


def _phase(id_: str, given: Mapping[str, Any]) -> str:
    """`body` and `extra` (more lines of front matter) are texts; all others are fields."""
    fields = {"id": id_, "name": id_.upper(), "emoji": "•"}
    fields |= {name: value for name, value in given.items() if name not in ("body", "extra")}
    return f"---\n{_yaml(fields)}{given.get('extra', '')}---\n{given.get('body', f'Do {id_}.')}\n"


def _yaml(fields: Mapping[str, Any]) -> str:
    return "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in fields.items())
