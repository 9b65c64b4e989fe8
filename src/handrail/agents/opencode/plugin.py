"""Our plugin for OpenCode: `plugin.js` with the values of one installation, and `child.js`. Others write the files."""

from __future__ import annotations

import json
from typing import Any

from handrail.agents import stubs as shell
from handrail.agents.plugins import CHILD, read
from handrail.contracts import Stubs
from handrail.contracts.step import TOOL

AGENT = "opencode"
FILE = "handrail.js"
"""OpenCode loads only one plugin of a file name, the one of the nearest settings: so ours never runs twice."""
SKILLS = "skills"
"""The folder beside our plugin that the plugin adds to OpenCode's folders of skills."""
_PLACE = '"@STUBS@"'
_NOT_CARRIED_OUT = "Handrail did not carry out this command. Tell the person so, and do nothing else."
_COMMANDS = {
    "workflow": {"description": "Start a Handrail workflow: NAME TASK. Without a name, list the workflows."},
    "cancel-workflow": {"description": "Cancel the Handrail workflow of this conversation."},
}


def files(stubs: Stubs) -> dict[str, str]:
    """The plugin: name → text. The template of a command is sent only if our plugin is not called for it."""
    values: dict[str, Any] = {
        "command": [*stubs.handrail, "serve", "--stdio", "--agent", AGENT],
        "env": shell.variables(stubs),
        "state": stubs.state,
        "conversation": stubs.conversation,
        "commands": {name: {**about, "template": _NOT_CARRIED_OUT} for name, about in _COMMANDS.items()},
        "tool": TOOL,
        "skills": SKILLS,
    }
    own = read(AGENT, "plugin.js").replace(_PLACE, json.dumps(values, indent=2, ensure_ascii=False))
    return {FILE: own, CHILD: read(CHILD)}
