"""The recipe for installing Handrail's plugin into OpenCode and removing it. It writes no files itself.

The plugin is `plugin.js` with the values of one installation, and `child.js`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from handrail.agents import recipes
from handrail.agents.calls.servers import TOOL
from handrail.agents.recipes import FileRecipe, JsonEntries, below, served_trial
from handrail.agents.requests import CHILD, plugin_file
from handrail.extensions.contracts import Stubs
from handrail.source import text_edits

AGENT = "opencode"
PLUGIN_FILE = "handrail.js"
"""OpenCode loads only one plugin of a file name, the one of the nearest settings: so ours never runs twice."""
SKILL_FOLDER = "skills"
"""The folder beside our plugin that the plugin adds to OpenCode's folders of skills."""
_PLACE = '"@STUBS@"'
_FAILED = "Handrail did not carry out this command. Tell the person so, and do nothing else."
_COMMANDS = {
    "workflow": "Start a Handrail workflow: NAME TASK. Without a name, list the workflows.",
    "cancel-workflow": "Cancel the Handrail workflow of this conversation.",
}


def plugin_texts(stubs: Stubs) -> dict[str, str]:
    """The plugin: name → text. The template of a command is sent only if our plugin is not called for it."""
    values: dict[str, Any] = {
        "command": [*stubs.handrail, "serve", "--stdio", "--agent", AGENT],
        "env": recipes.variables(stubs),
        "state": stubs.state,
        "conversation": stubs.conversation,
        "commands": {name: {"description": text, "template": _FAILED} for name, text in _COMMANDS.items()},
        "tool": TOOL,
        "skills": SKILL_FOLDER,
    }
    plugin_text = plugin_file(AGENT, "plugin.js").replace(_PLACE, json.dumps(values, indent=2, ensure_ascii=False))
    return {PLUGIN_FILE: plugin_text, CHILD: plugin_file(CHILD)}


def _settings_file(base: str) -> str:
    """The settings file that gets our entry. OpenCode reads both: best one without comments, then one that is new."""
    paths = [os.path.join(base, name) for name in ("opencode.json", "opencode.jsonc")]
    plain = [path for path in paths if _is_plain(path)]
    absent = [path for path in paths if not os.path.lexists(path)]
    return (*plain, *absent, *paths)[0]


def _is_plain(path: str) -> bool:
    """True if a file is JSON without comments."""
    try:
        return text_edits.json_outline(Path(path).read_text(encoding="utf-8")).kind == "object"
    except (OSError, ValueError):
        return False


def recipe(env: Mapping[str, str], project: str | None, stubs: Stubs) -> FileRecipe:
    """Our plugin, and its entry in the list of plugins. A running conversation is free if the plugin's file is gone.

    The plugin is not in `.opencode` of the project: OpenCode installs packages into such a folder when it starts.
    """
    config = env.get("XDG_CONFIG_HOME") or os.path.join(recipes.home(env), ".config")
    base = project or os.path.join(config, "opencode")
    folder = os.path.join(base, "handrail") if project is None else os.path.join(base, ".handrail", "opencode")
    entry = Path(folder, PLUGIN_FILE).as_uri()
    cancel = {"type": "command", "name": "cancel"}
    return FileRecipe(
        files=below(folder, plugin_texts(stubs) | below(SKILL_FOLDER, recipes.skill_files())),
        entries={_settings_file(base): JsonEntries(item=("plugin", entry), comments=True)},
        trial=lambda conversation, cwd: served_trial(stubs, AGENT, {**cancel, "session": conversation, "cwd": cwd}),
        denied=partial(recipes.denied_tools, [_settings_file(base)], "permission"),
    )
