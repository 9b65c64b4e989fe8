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
from typing import Any

from handrail.agents.calls.step_tool import TOOL
from handrail.agents.recipes import as_json, home, served_trial, skill_files, variables
from handrail.agents.requests import CHILD, plugin_file, plugin_files
from handrail.extensions.contracts import Stubs
from handrail.extensions.contracts.agent import StubTrial
from handrail.source import text_edits

CONFIG_FILE = "handrail.json"


def extension_files(stubs: Stubs, user: str = "") -> dict[str, str]:
    """Every file of the extension. `user` is the `CONFIG_FILE` of the user's installation, if this is for a project."""
    found = {CHILD: plugin_file(CHILD), **plugin_files("pi", "extension")}
    config = {
        "version": stubs.version,
        "command": [*stubs.handrail, "serve", "--stdio", "--agent", "pi"],
        "env": variables(stubs),
        "conversation": stubs.conversation,
        "user": user,
        "tool": {"description": TOOL["description"], "inputSchema": TOOL["inputSchema"]},
    }
    return {**found, CONFIG_FILE: as_json(config)}


AGENT = "pi"
ORIGINAL = "pi-workflows"
_LISTS = ("packages", "extensions")
_ORIGINAL = re.compile(r"(^|[/:])pi-workflows(@[^/]*|\.git|/.*)?$")


class PiRecipe:
    """One installation, for the user or for one project: our extension, and the settings without pi-workflows."""

    def __init__(self, env: Mapping[str, str], project: str | None, stubs: Stubs) -> None:
        user = env.get("PI_CODING_AGENT_DIR") or os.path.join(home(env), ".pi", "agent")
        self.stubs = stubs
        self.user = os.path.join(user, "extensions", "handrail", CONFIG_FILE)
        self.project = project
        self.base = user if project is None else os.path.join(project, ".pi")
        self.settings = os.path.join(self.base, "settings.json")
        self.folder = os.path.join(self.base, "extensions", "handrail")

    def shared(self) -> list[str]:
        return [self.settings]

    def owned(self, texts: Mapping[str, str | None]) -> dict[str, str]:
        del texts
        files = extension_files(self.stubs, self.user if self.project is not None else "")
        own = {os.path.join(self.folder, name): text for name, text in files.items()}
        return own | {os.path.join(self.base, "skills", name): text for name, text in skill_files().items()}

    def kept(self) -> list[str]:
        return []

    def add(self, path: str, text: str | None) -> str | None:
        """The settings without pi-workflows; None if there are no settings, because ours are not in them."""
        del path
        if text is None:
            return None
        for name in _LISTS:
            if any(map(is_original, _list(text, name))):
                text = text_edits.remove_items(text, (name,), is_original)
        return text

    def trial(self, conversation: str, cwd: str) -> StubTrial:
        message = {"event": "command", "name": "cancel-workflow", "conversation": conversation, "cwd": cwd}
        return served_trial(self.stubs, AGENT, message)

    def strip(self, path: str, text: str, before: str | None) -> str | None:
        """The settings with pi-workflows as it was before."""
        del path
        for name in _LISTS:
            for entry in filter(is_original, _list(before or "{}", name)):
                if entry not in _list(text, name):
                    text = text_edits.add_item(text, (name,), entry)
        return text

    def notes(self, texts: Mapping[str, str | None]) -> list[str]:
        """What the person should know about this installation."""
        text = texts[self.settings]
        if text is None or not any(is_original(entry) for name in _LISTS for entry in _list(text, name)):
            return []
        told = f"{ORIGINAL} is in `{self.settings}`. Both would answer `/workflow`, so its entry is taken out; "
        return [told + "`handrail uninstall pi` puts it back. Handrail continues the workflows that it began."]


def _list(text: str, name: str) -> list[Any]:
    found = json.loads(text)
    value = found.get(name) if isinstance(found, dict) else None
    return value if isinstance(value, list) else []


def is_original(entry: Any) -> bool:
    """True if an entry of the settings is pi-workflows: a package, a path, or an object with its source."""
    source = entry.get("source") if isinstance(entry, dict) else entry
    return isinstance(source, str) and _ORIGINAL.search(source) is not None


recipe = PiRecipe
