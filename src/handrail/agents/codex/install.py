"""The recipe for installing Handrail's stubs into Codex and removing them. It writes no files itself.

Hooks are in `hooks.json`, the MCP server in `config.toml`. Codex runs a hook only if the user's `config.toml` has the
hash of its definition under its place in `hooks.json`: this writes the hashes of our hooks and of no others. Ours are
the last ones of their event, so that the places of the person's own hooks stay the same.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from typing import Any

from handrail.agents import skills as shipped
from handrail.agents.codex import hooks
from handrail.agents.codex.tools import AGENT_SHELL
from handrail.agents.trials import compact, read_json
from handrail.agents.usage import within
from handrail.contracts import Stubs
from handrail.contracts.host import Trial
from handrail.source import jsonedit, tomledit

_EMPTY = "{}\n"
_NOTE = "added by `handrail install codex`"
_PASSED = [
    "CARGO_HOME", "CI", "CONDA_PREFIX", "GOPATH", "GOROOT", "HANDRAIL_HOME", "JAVA_HOME", "NODE_ENV", "NODE_OPTIONS",
    "NODE_PATH", "NVM_DIR", "PYENV_ROOT", "PYTHONPATH", "RUSTUP_HOME", "VIRTUAL_ENV", "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
]  # fmt: skip
"""Variables that programs of exit checks often need. A person may add others to the entry of the server."""


def recipe(env: Mapping[str, str], project: str | None, stubs: Stubs) -> Recipe:
    """The installation for the user, or for one project."""
    home = env.get("HOME") or os.path.expanduser("~")
    return Recipe(env.get("CODEX_HOME") or os.path.join(home, ".codex"), project, stubs)


class Recipe:
    """One installation: files that Handrail owns, and entries in shared files."""

    def __init__(self, user: str, project: str | None, stubs: Stubs) -> None:
        self.user = user
        self.project = project
        self.stubs = stubs
        self.base = user if project is None else os.path.join(project, ".codex")
        self.folder = os.path.join(self.base, hooks.NAME)
        self.listed = os.path.join(self.base, "hooks.json")
        self.config = os.path.join(self.base, "config.toml")
        self.trust = os.path.join(user, "config.toml")
        self.groups = hooks.hooks(self.folder)
        self.note = _NOTE if project is None else f"{_NOTE[:-1]} --project` in {json.dumps(project)}"
        self.places: dict[str, int] = {}

    def shared(self) -> list[str]:
        """Files of the user that get entries of Handrail. The trust is written last: it depends on `hooks.json`."""
        return list(dict.fromkeys([self.listed, self.config, self.trust]))

    def owned(self, texts: Mapping[str, str | None]) -> dict[str, str]:
        del texts
        user = os.path.join(self.user, hooks.NAME) if self.project is not None else ""
        stubs = {os.path.join(self.folder, name): text for name, text in hooks.files(self.stubs, user).items()}
        skills = hooks.skills() | shipped.files()
        return stubs | {os.path.join(self.base, "skills", name): text for name, text in skills.items()}

    def kept(self) -> list[str]:
        return []

    def add(self, path: str, text: str | None) -> str:
        """The text of a shared file with our entries added. `text` has none of them yet."""
        try:
            return self._add_hooks(text or _EMPTY) if path == self.listed else self._add_tables(path, text or "")
        except ValueError as error:
            raise ValueError(f"`{path}`: {error}") from error

    def _add_tables(self, path: str, text: str) -> str:
        """The server and the hashes. If a link leads to `hooks.json`, Codex may use either path as its place."""
        tables: dict[tuple[str, ...], dict[str, Any]] = {}
        if path == self.config:
            text = tomledit.add_key(text, "features", "unified_exec_tty", False, self.note)
            tables[("mcp_servers", hooks.NAME)] = hooks.server(self.stubs, _PASSED)
        if path == self.trust:
            for place in dict.fromkeys([os.path.abspath(self.listed), os.path.realpath(self.listed)]):
                hashes = hooks.trusted(place, self.groups, self.places)
                tables |= {("hooks", "state", key): {"trusted_hash": value} for key, value in hashes.items()}
        return tomledit.add_tables(text, tables, self.note)

    def _add_hooks(self, text: str) -> str:
        present = json.loads(text).get("hooks") or {}
        for event, group in self.groups.items():
            before = present.get(event) if isinstance(present, dict) else None
            self.places[event] = len(before) if isinstance(before, list) else 0
            text = jsonedit.append_item(text, ("hooks", event), group)
        return text

    def untrusted(self) -> list[str]:
        """Our hooks that Codex does not run, because the user's settings do not have their hashes."""
        listed, settings = read_json(self.listed), _read_toml(self.trust)
        known = within(settings, "hooks", "state")
        places = {
            event: at
            for event in self.groups
            for at, entry in enumerate(within(listed, "hooks").get(event) or [])
            if self._is_ours(entry)
        }
        missing = []
        for event in self.groups:
            one = {event: self.groups[event]}
            keys = hooks.trusted(os.path.abspath(self.listed), one, places) if event in places else {event: ""}
            missing += [key for key, value in keys.items() if within(known, key).get("trusted_hash") != value]
        return missing

    def switched_off(self) -> list[str]:
        """The files of settings that switch hooks off."""
        paths = dict.fromkeys([self.config, self.trust])
        return [f"`{path}`: `features.hooks`" for path in paths if _switch(path) is False]

    def trial(self, conversation: str, cwd: str) -> Trial:
        message = {"session_id": conversation, "cwd": cwd, "hook_event_name": "UserPromptSubmit"}
        argv = ("/bin/sh", os.path.join(self.folder, "prompt"))
        return Trial(argv, compact({**message, "prompt": "$cancel-workflow"}), {AGENT_SHELL: ""})

    def strip(self, path: str, text: str, before: str | None) -> str | None:
        """The text without our entries; None if the file was new and is empty then."""
        if path == self.listed:
            for event in json.loads(text).get("hooks") or {}:
                text = jsonedit.remove_items(text, ("hooks", event), self._is_ours)
            return None if before is None and text.strip() in ("{}", "") else text
        text = tomledit.remove(text, self.note)
        return None if before is None and not text.strip() else text

    def _is_ours(self, entry: Any) -> bool:
        return self.folder in json.dumps(entry, ensure_ascii=False)


def _switch(path: str) -> Any:
    return within(_read_toml(path), "features").get("hooks")


def _read_toml(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError):
        return {}
