"""The files with which one call of Gemini CLI follows a workflow although nothing is installed.

Hooks and server are in a settings file of the system, which Gemini CLI finds by a variable. Settings of the user and of
the project cannot override it. If the machine has such a file, its content is kept.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from handrail.agents.gemini import stubs as own
from handrail.contracts import NodeError, Stubs

SYSTEM_SETTINGS = "GEMINI_CLI_SYSTEM_SETTINGS_PATH"
_USUAL = "/etc/gemini-cli/settings.json"


def guided_files(stubs: Stubs, env: Mapping[str, str], folder: str) -> dict[str, str]:
    """Path below `folder` → content: the stubs and the settings."""
    settings = _existing(env.get(SYSTEM_SETTINGS) or _USUAL)
    added = own.settings(stubs, os.path.join(folder, own.NAME))
    for event, entries in added["hooks"].items():
        settings["hooks"] = _mapping(settings, "hooks")
        theirs = settings["hooks"].get(event)
        settings["hooks"][event] = [*(theirs if isinstance(theirs, list) else ()), *entries]
    settings["mcpServers"] = {**_mapping(settings, "mcpServers"), **added["mcpServers"]}
    files = {os.path.join(own.NAME, name): text for name, text in own.files(stubs).items()}
    return {**files, "settings.json": json.dumps(settings, indent=2, ensure_ascii=False) + "\n"}


def _existing(path: str) -> dict[str, Any]:
    """The settings of the machine; empty if there are none."""
    try:
        with open(path, encoding="utf-8") as file:
            settings = json.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        message = f"the system settings of Gemini CLI in `{path}` cannot be read: {error}"
        raise NodeError("agent-settings", message, transient=False) from error
    return settings if isinstance(settings, dict) else {}


def _mapping(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = settings.get(name)
    return dict(value) if isinstance(value, dict) else {}
