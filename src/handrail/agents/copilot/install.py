"""The recipe for installing Handrail's stubs into Copilot CLI and removing them. It writes no files itself."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping

from handrail.agents import skills as shipped
from handrail.agents.copilot import commands, plugin
from handrail.agents.copilot.tools import SERVER
from handrail.agents.copilot.transcript import home
from handrail.agents.trials import compact, read_json
from handrail.contracts import Stubs
from handrail.contracts.host import Trial
from handrail.source import jsonedit

_EMPTY = "{}\n"


def recipe(env: Mapping[str, str], project: str | None, stubs: Stubs) -> Recipe:
    """The installation for the user, or for one project."""
    return Recipe(home(env, env.get("HOME") or os.path.expanduser("~")), project, stubs)


class Recipe:
    """One installation: files that Handrail owns, and entries in shared files."""

    def __init__(self, base: str, project: str | None, stubs: Stubs) -> None:
        self.project = project
        self.stubs = stubs
        self.base = base if project is None else os.path.join(project, ".github")
        self.own = os.path.join(self.base, "" if project is None else "copilot", plugin.NAME)
        self.servers = os.path.join(self.base, "mcp-config.json" if project is None else "mcp.json")
        self.settings = os.path.join(self.base, "settings.json")
        self.status = os.path.join(self.own, "bin", "status")

    def shared(self) -> list[str]:
        """Files of the user that get entries of Handrail. Copilot CLI reads a status line only from the user's."""
        return [self.servers] if self.project is not None else [self.servers, self.settings]

    def owned(self, texts: Mapping[str, str | None]) -> dict[str, str]:
        """Files that only Handrail uses. An existing status line is kept and shown before ours."""
        stubs = plugin.bin_files(self.stubs)
        if self.project is None:
            stubs["bin/status"] = plugin.status_stub(self.stubs, _foreign(texts[self.settings] or _EMPTY))
        hooks = plugin.hooks_file(shlex.quote(os.path.join(self.own, "bin")))
        return {
            **{os.path.join(self.own, name): text for name, text in stubs.items()},
            os.path.join(self.base, "hooks", f"{plugin.NAME}.json"): hooks,
            **{os.path.join(self.base, name): text for name, text in commands.skills().items()},
            **{os.path.join(self.base, "skills", name): text for name, text in shipped.files().items()},
        }

    def kept(self) -> list[str]:
        """No folders: a hook whose stub is gone allows everything."""
        return []

    def add(self, path: str, text: str | None) -> str:
        """The text of a shared file with our entries added. `text` has none of them yet."""
        text = text or _EMPTY
        if path == self.servers:
            return jsonedit.add_member(text, ("mcpServers",), SERVER, plugin.mcp_servers(self.stubs)[SERVER])
        own = {"type": "command", "command": f"/bin/sh {shlex.quote(self.status)}"}
        old = json.loads(text).get("statusLine")
        if not isinstance(old, dict):
            return jsonedit.add_member(text, (), "statusLine", {**own, "padding": 0})
        return jsonedit.replace(text, ("statusLine",), {**old, **own})

    def switched_off(self) -> list[str]:
        """Our file of hooks, if it switches its own hooks off."""
        path = os.path.join(self.base, "hooks", f"{plugin.NAME}.json")
        return [f"`{path}`: `disableAllHooks`"] if read_json(path).get("disableAllHooks") is True else []

    def trial(self, conversation: str, cwd: str) -> Trial:
        message = {"sessionId": conversation, "cwd": cwd, "prompt": "/cancel-workflow"}
        return Trial(("/bin/sh", os.path.join(self.own, "bin", "prompt")), compact(message))

    def strip(self, path: str, text: str, before: str | None) -> str | None:
        """The text without our entries; None if the file was new. `before` is the text before they were added."""
        left = self._without(path, text, before)
        return None if before is None and left.strip() in ("{}", "") else left

    def _without(self, path: str, text: str, before: str | None) -> str:
        if path == self.servers:
            return jsonedit.remove_member(text, ("mcpServers", SERVER))
        old = json.loads(before).get("statusLine") if before else None
        now = json.loads(text).get("statusLine")
        if not isinstance(now, dict) or self.status not in str(now.get("command")):
            return text
        if old is not None:
            return jsonedit.replace(text, ("statusLine",), old)
        return jsonedit.remove_member(text, ("statusLine",))


def _foreign(settings: str) -> str | None:
    value = json.loads(settings).get("statusLine")
    command = value.get("command") if isinstance(value, dict) else None
    return command if isinstance(command, str) else None
