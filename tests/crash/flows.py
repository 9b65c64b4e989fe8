"""The flow that is interrupted at every place (`definitions/`), and functions to build small flows.

The flow has two levels of nesting, parallel and repeated phases, retries, a form and artifacts, and it stops itself.
"""

from __future__ import annotations

import json
from pathlib import Path

from handrail.driven.runs.request import RunRequest

WORK = Path(__file__).parent / "children" / "work.sh"
DEFINITIONS = Path(__file__).parent / "definitions"
FLOWS = {file.stem: file.read_text().replace("WORK", str(WORK)) for file in DEFINITIONS.glob("*.yaml")}
REQUEST = RunRequest(params={"who": "Grace"}, scope="crash")
ANSWERS = {"plan": {"name": "Ada", "really": True}}
SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"enum": ["good", "bad"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}
CAREFUL = "careful/once"


def command(id_: str, *argv: str, more: str = "rerun: safe") -> str:
    """A step that runs the work program."""
    words = json.dumps(["/bin/sh", str(WORK), *argv])
    return f"  - id: {id_}\n    node: command\n    params: {{argv: {words}}}\n    {more}\n"


def phase(id_: str, *steps: str) -> str:
    return f"- id: {id_}\n  steps:\n{''.join(steps)}"
