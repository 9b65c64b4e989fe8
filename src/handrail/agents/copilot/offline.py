"""Copilot CLI offline against a scripted model: its command line, variables, files, and calls of its tools.

Its key must not be part of another word: the program redacts the key in all its output.
"""

from __future__ import annotations

import json
import shlex

from handrail.agents.copilot.host import OWN_STEP
from handrail.agents.probe.openai import Chat
from handrail.agents.probe.scripted_model import ScriptedCall, Turn, printed_events
from handrail.extensions.contracts.offline import PROJECT, PROMPT, URL, AnyPath

PROTOCOL = Chat
OPTIONS = ("-p", PROMPT, "--output-format", "json", "--allow-all-tools")
ALLOWED = ("--allow-all-tools", "--allow-all-paths")
ENVIRONMENT = {
    "COPILOT_OFFLINE": "true",
    "COPILOT_AUTO_UPDATE": "false",
    "COPILOT_PROVIDER_BASE_URL": URL,
    "COPILOT_PROVIDER_API_KEY": "sk-scripted",
    "COPILOT_MODEL": "fake-1",
}
FILES: dict[str, str] = {}
HOST_FILES = {".copilot/config.json": json.dumps({"trustedFolders": [PROJECT]})}
PASSED = ("COPILOT_PKG_CACHE_HOME",)
"""Where the program unpacks itself. Without this variable it does so in each new home."""
NOTE: str | None = "probe-add"
SETTINGS = ".copilot/hooks/handrail.json"
STEP = OWN_STEP
report = Turn


def write(path: AnyPath, text: str) -> ScriptedCall:
    return "create", {"path": str(path), "file_text": text}


def edit(path: AnyPath, old: str, new: str) -> ScriptedCall:
    return "edit", {"path": str(path), "old_str": old, "new_str": new}


def read(path: AnyPath) -> ScriptedCall:
    return "view", {"path": str(path)}


def shell(command: str) -> ScriptedCall:
    return "bash", {"command": command, "description": "a command"}


def subagent(program: str, task: str) -> ScriptedCall:
    del program
    kind = {"agent_type": "general-purpose", "name": "part", "mode": "sync"}
    return "task", {"description": "a part", "prompt": task, **kind}


def argv(program: str, prompt: str, thread: str | None, home: AnyPath) -> list[str]:
    del home
    shape = ["--output-format", "json", *ALLOWED, *([f"--resume={thread}"] if thread else [])]
    return [program, "-p", prompt, *shape]


def thread(output: str) -> str | None:
    return next((str(event["sessionId"]) for event in printed_events(output) if event.get("type") == "result"), None)


def with_server(command: list[str]) -> dict[str, str]:
    server = {"type": "local", "command": command[0], "args": command[1:], "tools": ["*"]}
    return {".copilot/mcp-config.json": json.dumps({"mcpServers": {"probe": server}})}


def with_rewrite(home: AnyPath, command: str) -> dict[str, str]:
    del home
    said = {"modifiedArgs": {"command": command, "description": "a command"}}
    run = f"printf '%s' {shlex.quote(json.dumps(said))}"
    hooks = {"preToolUse": [{"type": "command", "bash": run, "timeoutSec": 20}]}
    return {".copilot/hooks/rewrite.json": json.dumps({"version": 1, "hooks": hooks})}


def loosened(text: str) -> str:
    """The switch of one file of hooks. With version 1.0.102, the switch in the settings does not work."""
    return json.dumps({**json.loads(text), "disableAllHooks": True})
