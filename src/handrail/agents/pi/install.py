"""The recipe for installing our extension into pi and removing it. It writes no files itself.

The extension is plain JavaScript as it is, and one file that says how Handrail is called. pi loads every extension in
its folders. If pi-workflows is in pi's settings, its entry is taken out, because both would answer `/workflow`;
uninstalling puts it back.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from handrail.agents.calls.servers import TOOL
from handrail.agents.recipes import FileRecipe, as_json, below, home, read_json, served_trial, skill_files, variables
from handrail.agents.requests import CHILD, plugin_file, plugin_files
from handrail.extensions.contracts import Stubs
from handrail.source import text_edits

CONFIG_FILE = "handrail.json"
DEFAULT_TOOLS = ("read", "bash", "edit", "write")


def extension_files(stubs: Stubs, user: str = "") -> dict[str, str]:
    """Every file of the extension. `user` is the `CONFIG_FILE` of the user's installation, if this is for a project."""
    files = {CHILD: plugin_file(CHILD), **plugin_files("pi", "extension")}
    config = {
        "version": stubs.version,
        "command": [*stubs.handrail, "serve", "--stdio", "--agent", "pi"],
        "env": variables(stubs),
        "conversation": stubs.conversation,
        "user": user,
        "tool": {"description": TOOL["description"], "inputSchema": TOOL["inputSchema"]},
    }
    return {**files, CONFIG_FILE: as_json(config)}


AGENT = "pi"
ORIGINAL = "pi-workflows"
_LISTS = ("packages", "extensions")
_ORIGINAL = re.compile(r"(^|[/:])pi-workflows(@[^/]*|\.git|/.*)?$")


def recipe(env: Mapping[str, str], project: str | None, stubs: Stubs) -> FileRecipe:
    user = env.get("PI_CODING_AGENT_DIR") or os.path.join(home(env), ".pi", "agent")
    base = user if project is None else os.path.join(project, ".pi")
    settings = os.path.join(base, "settings.json")
    of_user = os.path.join(user, "extensions", "handrail", CONFIG_FILE) if project is not None else ""
    own = below(os.path.join(base, "extensions", "handrail"), extension_files(stubs, of_user))
    cancel = {"event": "command", "name": "cancel-workflow"}
    return FileRecipe(
        files=own | below(os.path.join(base, "skills"), skill_files()),
        entries={settings: _WithoutOriginal()},
        trial=lambda conversation, cwd: served_trial(
            stubs, AGENT, {**cancel, "conversation": conversation, "cwd": cwd}
        ),
        notes=partial(_notes, settings),
        denied=partial(_denied, settings),
    )


def _denied(settings: str) -> dict[str, str]:
    """The tools of pi that `defaultTools` leaves out, or removes by `-TOOL`, with the place of the setting."""
    chosen = read_json(settings).get("defaultTools")
    names = [str(one) for one in chosen] if isinstance(chosen, list) else ["+read"]
    is_change = any(name.startswith(("+", "-")) for name in names)
    gone = [name for name in DEFAULT_TOOLS if (f"-{name}" in names if is_change else name not in names)]
    return dict.fromkeys(gone, f"`{settings}`: `defaultTools`")


class _WithoutOriginal:
    """The settings without pi-workflows. Ours are not in them, so they need not exist."""

    def add(self, text: str | None) -> str | None:
        if text is None:
            return None
        for name in _LISTS:
            if any(map(is_original, _list(text, name))):
                text = text_edits.remove_items(text, (name,), is_original)
        return text

    def strip(self, text: str, before: str | None) -> str:
        for name in _LISTS:
            for entry in filter(is_original, _list(before or "{}", name)):
                if entry not in _list(text, name):
                    text = text_edits.add_item(text, (name,), entry)
        return text


def _notes(settings: str, texts: Mapping[str, str | None]) -> list[str]:
    text = texts[settings]
    if text is None or not any(is_original(entry) for name in _LISTS for entry in _list(text, name)):
        return []
    note = f"{ORIGINAL} is in `{settings}`. Both would answer `/workflow`, so its entry is taken out; "
    return [note + "`handrail uninstall pi` puts it back. Handrail continues the workflows that it began."]


def _list(text: str, name: str) -> list[Any]:
    data = json.loads(text)
    value = data.get(name) if isinstance(data, dict) else None
    return value if isinstance(value, list) else []


def is_original(entry: Any) -> bool:
    """True if an entry of the settings is pi-workflows: a package, a path, or an object with its source."""
    source = entry.get("source") if isinstance(entry, dict) else entry
    return isinstance(source, str) and _ORIGINAL.search(source) is not None
