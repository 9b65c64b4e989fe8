"""OpenCode offline against a scripted model: its command line, variables, files, and calls of its tools.

The prompt is not an argument of its headless command line: the model would get it in quotes. As a host, its server is
used (`server_prompt`), because `opencode run` ends at the first stop of the agent.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import PurePath

from handrail import STEP_TOOL
from handrail.agents.probe.protocols import Chat
from handrail.agents.probe.scripted_model import Turn, tool_call, value_printed, with_members
from handrail.extensions.contracts.agent import URL, AnyPath

PROTOCOL = Chat
OPTIONS = ("run", "--format", "json", "--auto")
_ABOUT = {
    "tool_call": True,
    "limit": {"context": 128000, "output": 8192},
    "cost": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75},
}
_PROVIDER = {
    "npm": "@ai-sdk/openai-compatible",
    "options": {"baseURL": URL, "apiKey": "fake"},
    "models": {"fake-1": _ABOUT},
}
_CONFIG = {
    "autoupdate": False,
    "share": "disabled",
    "model": "fake/fake-1",
    "small_model": "fake/fake-1",
    "enabled_providers": ["fake"],
    "provider": {"fake": _PROVIDER},
}
_OFF = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE")
_MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "models.json")
"""No models, instead of the long list that OpenCode has: it starts in two thirds of the time."""
ENVIRONMENT = {
    "OPENCODE_CONFIG_CONTENT": json.dumps(_CONFIG),
    "OPENCODE_MODELS_PATH": _MODELS,
    **{f"OPENCODE_DISABLE_{name}": "1" for name in _OFF},
}
FILES: dict[str, str] = {}
_LOCK = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
HOST_FILES = {
    ".config/opencode/node_modules/.keep": "",
    ".config/opencode/package-lock.json": json.dumps(_LOCK),
}
"""The home as after the first start: OpenCode has installed its package for plugins."""
PASSED: tuple[str, ...] = ()
NOTE: str | None = "probe_add"
SETTINGS = ".config/opencode/opencode.json"
STEP = STEP_TOOL
report = Turn
write = tool_call("write", "filePath", "content")
edit = tool_call("edit", "filePath", "oldString", "newString")
read = tool_call("read", "filePath")
shell = tool_call("bash", "command", description="a command")
subagent = tool_call("task", None, "prompt", description="a part", subagent_type="general")
thread = value_printed("session")
loosened = with_members(plugin=[])


def argv(program: str, prompt: str, thread: str | None, _home: AnyPath) -> list[str]:
    served = [sys.executable, "-P", "-m", "handrail.agents.opencode.server_prompt"]
    return [*served, program, prompt, *([thread] if thread else [])]


def with_server(command: list[str]) -> dict[str, str]:
    server = {"type": "local", "command": command, "enabled": True}
    return {SETTINGS: json.dumps({"mcp": {"probe": server}})}


def with_rewrite(home: AnyPath, command: str) -> dict[str, str]:
    name = ".config/opencode/rewrite.js"
    change = f"output.args.command = {json.dumps(command)}"
    hook = f'"tool.execute.before": async (input, output) => {{ if (input.tool === "bash") {change} }}'
    address = PurePath(os.path.join(home, name)).as_uri()
    return {name: f"export const Rewrite = async () => ({{ {hook} }})\n", SETTINGS: json.dumps({"plugin": [address]})}
