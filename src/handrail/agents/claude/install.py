"""The recipe for installing Handrail's stubs into Claude Code and removing them. It writes no files itself."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from typing import Any

from handrail.agents.claude import plugin
from handrail.agents.trials import compact, read_json
from handrail.contracts import Stubs
from handrail.contracts.host import Trial
from handrail.source import jsonedit

_EMPTY = "{}\n"
_SWITCH = "disableAllHooks"


def recipe(env: Mapping[str, str], project: str | None, stubs: Stubs) -> Recipe:
    """The installation for the user, or for one project."""
    home = env.get("HOME") or os.path.expanduser("~")
    return Recipe(env.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"), project, stubs)


class Recipe:
    """One installation: files that Handrail owns, and entries in shared files."""

    def __init__(self, base: str, project: str | None, stubs: Stubs) -> None:
        self.project = project
        self.stubs = stubs
        self.base = base if project is None else os.path.join(project, ".claude")
        self.settings = os.path.join(self.base, "settings.json" if project is None else "settings.local.json")
        self.folder = os.path.join(self.base, "skills" if project is None else "", plugin.NAME)
        self.status = os.path.join(self.folder, "bin", "status")

    def shared(self) -> list[str]:
        """Files of the user that get entries of Handrail."""
        return [self.settings] if self.project is None else [self.settings, os.path.join(self.project, ".mcp.json")]

    def owned(self, texts: Mapping[str, str | None]) -> dict[str, str]:
        """Files that only Handrail uses. An existing status line is kept and shown before ours."""
        foreign = self._foreign(texts[self.settings] or _EMPTY)
        files = {**plugin.files(self.stubs), "bin/status": plugin.status_stub(self.stubs, foreign)}
        if self.project is None:
            return {os.path.join(self.folder, name): text for name, text in files.items()}
        stubs = {os.path.join(self.folder, name): text for name, text in files.items() if name.startswith("bin/")}
        return stubs | {os.path.join(self.base, name): text for name, text in plugin.skills().items()}

    def kept(self) -> list[str]:
        """The folder of our plugin: a running conversation blocks every tool if the folder of a plugin is gone."""
        return [self.folder] if self.project is None else []

    def _foreign(self, settings: str) -> str | None:
        value = json.loads(settings).get("statusLine")
        command = value.get("command") if isinstance(value, dict) else None
        return command if isinstance(command, str) else None

    def add(self, path: str, text: str | None) -> str:
        """The text of a shared file with our entries added. `text` has none of them yet."""
        text = text or _EMPTY
        if path != self.settings:
            server = plugin.mcp_servers(self.stubs)[plugin.NAME]
            return jsonedit.add_member(text, ("mcpServers",), plugin.NAME, server)
        text = self._add_status_line(text)
        if self.project is None:
            return text
        for event, entries in plugin.hooks(shlex.quote(os.path.join(self.folder, "bin"))).items():
            for entry in reversed(entries):
                text = jsonedit.add_item(text, ("hooks", event), entry)
        return jsonedit.add_item(text, ("enabledMcpjsonServers",), plugin.NAME)

    def _add_status_line(self, text: str) -> str:
        own = {"type": "command", "command": f"/bin/sh {shlex.quote(self.status)}"}
        old = json.loads(text).get("statusLine")
        if not isinstance(old, dict):
            return jsonedit.add_member(text, (), "statusLine", {**own, "padding": 0, "refreshInterval": 2})
        return jsonedit.replace(text, ("statusLine",), {**old, **own})

    def switched_off(self) -> list[str]:
        """The files of settings that switch all hooks off."""
        names = ("settings.json", "settings.local.json") if self.project is not None else ("settings.json",)
        paths = [os.path.join(self.base, name) for name in names]
        return [f"`{path}`: `{_SWITCH}`" for path in paths if read_json(path).get(_SWITCH) is True]

    def trial(self, conversation: str, cwd: str) -> Trial:
        message = {"session_id": conversation, "cwd": cwd, "hook_event_name": "UserPromptExpansion"}
        typed = {**message, "command_name": "cancel-workflow", "command_args": ""}
        argv = ("/bin/sh", os.path.join(self.folder, "bin", "command"))
        return Trial(argv, compact(typed))

    def strip(self, path: str, text: str, before: str | None) -> str | None:
        """The text without our entries; None if the file was new. `before` is the text before they were added."""
        left = self._without(path, text, before)
        return None if before is None and left.strip() in ("{}", "") else left

    def _without(self, path: str, text: str, before: str | None) -> str:
        if path != self.settings:
            return jsonedit.remove_member(text, ("mcpServers", plugin.NAME))
        old = json.loads(before).get("statusLine") if before else None
        now = json.loads(text).get("statusLine")
        if isinstance(now, dict) and self.status in str(now.get("command")):
            restored = jsonedit.replace(text, ("statusLine",), old) if old is not None else None
            text = restored or jsonedit.remove_member(text, ("statusLine",))
        for event in json.loads(text).get("hooks") or {}:
            text = jsonedit.remove_items(text, ("hooks", event), self._is_ours)
        return jsonedit.remove_items(text, ("enabledMcpjsonServers",), lambda value: bool(value == plugin.NAME))

    def _is_ours(self, entry: Any) -> bool:
        return os.path.join(self.folder, "bin") in json.dumps(entry, ensure_ascii=False)
