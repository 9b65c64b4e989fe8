"""The files of our extension for pi: plain JavaScript as it is, and one file that says how Handrail is called."""

from __future__ import annotations

import json

from handrail.agents.plugins import CHILD, read, read_folder
from handrail.agents.stubs import variables
from handrail.contracts import Stubs
from handrail.contracts.step import TOOL

CONFIG = "handrail.json"


def files(stubs: Stubs, user: str = "") -> dict[str, str]:
    """Every file of the extension. `user` is the `CONFIG` of the user's installation, if this one is for a project."""
    found = {CHILD: read(CHILD), **read_folder("pi", "extension")}
    config = {
        "version": stubs.version,
        "command": [*stubs.handrail, "serve", "--stdio", "--agent", "pi"],
        "env": variables(stubs),
        "conversation": stubs.conversation,
        "user": user,
        "tool": {"description": TOOL["description"], "inputSchema": TOOL["inputSchema"]},
    }
    return {**found, CONFIG: json.dumps(config, indent=2, ensure_ascii=False) + "\n"}
