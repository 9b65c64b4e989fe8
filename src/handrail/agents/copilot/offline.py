"""Copilot CLI offline against a scripted model: its command line, variables, files, and calls of its tools.

Its key must not be part of another word: the program redacts the key in all its output.
"""

from __future__ import annotations

import json

from handrail.agents.copilot.host import OWN_STEP
from handrail.agents.probe.protocols import Chat
from handrail.agents.probe.scripted_model import Turn, printing, tool_call, value_printed, with_members
from handrail.extensions.contracts.agent import PROJECT, PROMPT, URL, AnyPath

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
write = tool_call("create", "path", "file_text")
edit = tool_call("edit", "path", "old_str", "new_str")
read = tool_call("view", "path")
shell = tool_call("bash", "command", description="a command")
subagent = tool_call(
    "task", None, "prompt", description="a part", agent_type="general-purpose", name="part", mode="sync"
)
thread = value_printed("sessionId", "result")
loosened = with_members(disableAllHooks=True)
"""The switch of one file of hooks. With version 1.0.102, the switch in the settings does not work."""


def argv(program: str, prompt: str, thread: str | None, _home: AnyPath) -> list[str]:
    shape = ["--output-format", "json", *ALLOWED, *([f"--resume={thread}"] if thread else [])]
    return [program, "-p", prompt, *shape]


def with_server(command: list[str]) -> dict[str, str]:
    server = {"type": "local", "command": command[0], "args": command[1:], "tools": ["*"]}
    return {".copilot/mcp-config.json": json.dumps({"mcpServers": {"probe": server}})}


def with_rewrite(_home: AnyPath, command: str) -> dict[str, str]:
    output = {"modifiedArgs": {"command": command, "description": "a command"}}
    hooks = {"preToolUse": [{"type": "command", "bash": printing(output), "timeoutSec": 20}]}
    return {".copilot/hooks/rewrite.json": json.dumps({"version": 1, "hooks": hooks})}
