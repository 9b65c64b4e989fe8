"""The recipe for installing Handrail's stubs into Gemini CLI and removing them. It writes no files itself."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from typing import Any

from handrail.agents import skills as shipped
from handrail.agents.gemini import stubs as own
from handrail.agents.gemini.prompts import CANCELS
from handrail.agents.gemini.tools import SERVER
from handrail.agents.trials import compact, read_json
from handrail.agents.usage import within
from handrail.contracts import Stubs
from handrail.contracts.host import Trial
from handrail.source import jsonedit

_EMPTY = "{}\n"


def recipe(env: Mapping[str, str], project: str | None, stubs: Stubs) -> Recipe:
    """The installation for the user, or for one project."""
    home = env.get("GEMINI_CLI_HOME") or env.get("HOME") or os.path.expanduser("~")
    return Recipe(os.path.join(project or home, ".gemini"), stubs)


class Recipe:
    """One installation: files that Handrail owns, and entries in the settings."""

    def __init__(self, base: str, stubs: Stubs) -> None:
        self.base = base
        self.stubs = stubs
        self.settings = os.path.join(base, "settings.json")
        self.folder = os.path.join(base, own.NAME)

    def shared(self) -> list[str]:
        return [self.settings]

    def owned(self, texts: Mapping[str, str | None]) -> dict[str, str]:
        del texts
        files = {os.path.join(self.folder, name): text for name, text in own.files(self.stubs).items()}
        files |= {os.path.join(self.base, "commands", name): text for name, text in own.commands().items()}
        return files | {os.path.join(self.base, "skills", name): text for name, text in shipped.files().items()}

    def kept(self) -> list[str]:
        return []

    def add(self, path: str, text: str | None) -> str:
        """The settings with our hooks and our server."""
        del path
        text = text or _EMPTY
        if jsonedit.find(text, ("mcpServers", SERVER), comments=True) is not None:
            raise ValueError(f"`{self.settings}` already has an MCP server `{SERVER}`")
        for event, entries in own.hooks(self.folder).items():
            for entry in reversed(entries):
                text = jsonedit.add_item(text, ("hooks", event), entry, comments=True)
        return jsonedit.add_member(text, ("mcpServers",), SERVER, own.server(self.stubs), comments=True)

    def switched_off(self) -> list[str]:
        """The settings, if they switch all hooks off, or ours by its name."""
        switches = within(read_json(self.settings), "hooksConfig")
        if switches.get("enabled") is False:
            return [f"`{self.settings}`: `hooksConfig.enabled`"]
        disabled = switches.get("disabled")
        is_off = isinstance(disabled, list) and own.NAME in disabled
        return [f"`{self.settings}`: `hooksConfig.disabled`"] if is_off else []

    def trial(self, conversation: str, cwd: str) -> Trial:
        message = {"session_id": conversation, "cwd": cwd, "hook_event_name": "BeforeAgent", "prompt": CANCELS}
        stub = os.path.join(self.folder, "prompt")
        command = f"stub={shlex.quote(stub)}; . {shlex.quote(stub)}"
        return Trial(("/bin/sh", "-c", command), compact(message))

    def strip(self, path: str, text: str, before: str | None) -> str | None:
        """The settings without our entries; None if the file was new and nothing else is in it."""
        del path
        for event in json.loads(jsonedit.plain(text)).get("hooks") or {}:
            text = jsonedit.remove_items(text, ("hooks", event), self._is_ours, comments=True)
        text = jsonedit.remove_member(text, ("mcpServers", SERVER), comments=True)
        return None if before is None and text.strip() in ("{}", "") else text

    def _is_ours(self, entry: Any) -> bool:
        return self.folder + "/" in json.dumps(entry, ensure_ascii=False)
