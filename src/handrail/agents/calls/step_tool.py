"""The tool `workflow_step` as agents see it. Imports nothing, because the server of the tool starts with it."""

from __future__ import annotations

from handrail import STEP_TOOL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ACTIONS = ("status", "next", "loop", "cancel")
TOOL: dict[str, Any] = {
    "name": STEP_TOOL,
    "title": "Workflow step",
    "description": (
        "Moves through the workflow that is active in this conversation. `next`: the current phase is finished, show "
        "the next one; Handrail first runs the exit checks of the phase and refuses if one fails. `status`: show the "
        "current phase and what to do now. `loop`: restart the current part of the workflow. `cancel`: cancel the "
        "workflow; call it twice in a row to confirm."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": list(ACTIONS)},
            "summary": {"type": "string", "description": "With `next`: what was done in this phase, in a line or two."},
        },
        "required": ["action"],
    },
}
