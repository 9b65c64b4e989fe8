"""A home with which one call of Gemini CLI follows a workflow although nothing is installed.

Gemini CLI reads hooks and servers only from its home, from the project, and from files that belong to root. So this
call gets a home of its own: everything in it leads to the person's home, except for the settings, which are the
person's with our entries added. Conversations are stored in the person's home, so the next call can continue them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from handrail.agents.gemini import stubs as own
from handrail.contracts import NodeError, Stubs
from handrail.source import jsonedit

HOME = "GEMINI_CLI_HOME"
_BASE = ".gemini"
_STORED = ("tmp", "history")
"""Folders with conversations. Gemini CLI would create them."""
_OWN = ("settings.json", "projects.json")
"""Files that are not shared: our settings, and a list that Gemini CLI replaces and can compute again."""


def home(env: Mapping[str, str]) -> str:
    """The folder in which Gemini CLI has its `.gemini`."""
    return env.get(HOME) or env.get("HOME", "")


def is_saved(env: Mapping[str, str], conversation: str) -> bool:
    """True if Gemini CLI has saved a prompt of the conversation. Only then it can be resumed."""
    saved = Path(home(env), _BASE, "tmp").glob(f"*/chats/session-*-{conversation[:8]}.jsonl")
    for path in saved:
        with path.open(encoding="utf-8", errors="replace") as file:
            if any('"type":"user"' in line for line in file):
                return True
    return False


def make_home(stubs: Stubs, env: Mapping[str, str], folder: str) -> dict[str, str]:
    """Make a home in `folder`, which the caller removes. Returns the files to write: path below `folder` → content."""
    theirs, ours = home(env), os.path.join(folder, "home")
    base = os.path.join(theirs, _BASE)
    os.makedirs(os.path.join(ours, _BASE))
    for name in _STORED:
        os.makedirs(os.path.join(base, name), exist_ok=True)
    for name in (".env", ".agents"):
        if os.path.exists(os.path.join(theirs, name)):
            os.symlink(os.path.join(theirs, name), os.path.join(ours, name))
    for name in os.listdir(base):
        if name not in _OWN:
            os.symlink(os.path.join(base, name), os.path.join(ours, _BASE, name))
    settings = _with_ours(_read(os.path.join(base, "settings.json")), own.settings(stubs, f"{folder}/{own.NAME}"))
    files = {os.path.join(own.NAME, name): text for name, text in own.files(stubs).items()}
    return {**files, f"home/{_BASE}/settings.json": json.dumps(settings, indent=2, ensure_ascii=False) + "\n"}


def _with_ours(settings: dict[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with our entries. Entries of an installation are left out: they would answer a second time."""
    hooks = _mapping(settings, "hooks")
    for event, entries in added["hooks"].items():
        theirs = hooks.get(event)
        hooks[event] = [*(e for e in (theirs if isinstance(theirs, list) else ()) if not _is_ours(e)), *entries]
    return {**settings, "hooks": hooks, "mcpServers": {**_mapping(settings, "mcpServers"), **added["mcpServers"]}}


def _is_ours(entry: Any) -> bool:
    hooks = entry.get("hooks") if isinstance(entry, dict) else None
    return isinstance(hooks, list) and any(isinstance(hook, dict) and hook.get("name") == own.NAME for hook in hooks)


def _read(path: str) -> dict[str, Any]:
    """The person's settings; empty if there are none."""
    try:
        with open(path, encoding="utf-8") as file:
            settings = json.loads(jsonedit.plain(file.read()))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        message = f"the settings of Gemini CLI in `{path}` cannot be read: {error}"
        raise NodeError("agent-settings", message, transient=False) from error
    return settings if isinstance(settings, dict) else {}


def _mapping(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = settings.get(name)
    return dict(value) if isinstance(value, dict) else {}
