"""The recipe for installing Handrail's plugin into OpenCode and removing it. It writes no files itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from handrail.agents import skills as shipped
from handrail.agents.opencode import plugin
from handrail.agents.trials import served
from handrail.contracts import Stubs
from handrail.contracts.host import Trial
from handrail.source import jsonedit

_EMPTY = "{}\n"
_LIST = ("plugin",)


def recipe(env: Mapping[str, str], project: str | None, stubs: Stubs) -> Recipe:
    """The installation for the user, or for one project."""
    home = env.get("HOME") or os.path.expanduser("~")
    settings = os.path.join(env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "opencode")
    return Recipe(settings if project is None else project, project, stubs)


def _settings_file(base: str) -> str:
    """The settings file that gets our entry. OpenCode reads both: best one without comments, then one that is new."""
    paths = [os.path.join(base, name) for name in ("opencode.json", "opencode.jsonc")]
    plain = [path for path in paths if _is_plain(path)]
    absent = [path for path in paths if not os.path.lexists(path)]
    return (*plain, *absent, *paths)[0]


def _is_plain(path: str) -> bool:
    """True if a file is JSON without comments."""
    try:
        return jsonedit.outline(Path(path).read_text(encoding="utf-8")).kind == "object"
    except (OSError, ValueError):
        return False


class Recipe:
    """One installation: our plugin, and its entry in the list of plugins.

    The plugin is not in `.opencode` of the project: OpenCode installs packages into such a folder when it starts.
    """

    def __init__(self, base: str, project: str | None, stubs: Stubs) -> None:
        self.settings = _settings_file(base)
        folder = os.path.join(base, "handrail") if project is None else os.path.join(base, ".handrail", "opencode")
        self.file = os.path.join(folder, plugin.FILE)
        self.stubs = stubs

    def shared(self) -> list[str]:
        """The settings of the user that get our entry."""
        return [self.settings]

    def owned(self, texts: Mapping[str, str | None]) -> dict[str, str]:
        """Files that only Handrail uses."""
        del texts
        folder = os.path.dirname(self.file)
        skills = {os.path.join(plugin.SKILLS, name): text for name, text in shipped.files().items()}
        return {os.path.join(folder, name): text for name, text in (plugin.files(self.stubs) | skills).items()}

    def kept(self) -> list[str]:
        """Nothing: a running conversation is free if the file of the plugin is gone."""
        return []

    def add(self, path: str, text: str | None) -> str:
        """The text of the settings with our entry. `text` does not have it yet."""
        del path
        return jsonedit.add_item(text or _EMPTY, _LIST, self._entry(), comments=True)

    def trial(self, conversation: str, cwd: str) -> Trial:
        return served(
            self.stubs, plugin.AGENT, {"type": "command", "name": "cancel", "session": conversation, "cwd": cwd}
        )

    def strip(self, path: str, text: str, before: str | None) -> str | None:
        """The text without our entry; None if the file was new."""
        del path
        left = jsonedit.remove_items(text, _LIST, self._is_ours, comments=True)
        return None if before is None and left.strip() in ("{}", "") else left

    def _entry(self) -> str:
        return Path(self.file).as_uri()

    def _is_ours(self, entry: Any) -> bool:
        return bool(entry == self._entry())
