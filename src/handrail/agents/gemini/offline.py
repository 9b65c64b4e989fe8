"""Gemini CLI offline against a scripted model: its command line, variables, files, and calls of its tools.

It relaunches itself by default, and a signal would then reach only the first process.
"""

from __future__ import annotations

import json

from handrail.agents.gemini.host import OWN_STEP
from handrail.agents.probe.protocols import Google
from handrail.agents.probe.scripted_model import Turn, printing, tool_call, tool_turn, value_printed, with_members
from handrail.extensions.contracts.agent import PROMPT, URL, AnyPath

PROTOCOL = Google
ALLOWED = ("--approval-mode", "yolo", "--skip-trust")
_SHAPE = ("-o", "stream-json", *ALLOWED)
OPTIONS = ("-p", PROMPT, *_SHAPE)
ENVIRONMENT = {"GEMINI_API_KEY": "fake", "GOOGLE_GEMINI_BASE_URL": URL, "GEMINI_CLI_NO_RELAUNCH": "true"}
_SETTINGS = {
    "general": {"disableAutoUpdate": True, "disableUpdateNag": True, "maxAttempts": 2},
    "model": {"name": "gemini-2.5-pro"},
    "privacy": {"usageStatisticsEnabled": False},
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "telemetry": {"enabled": False},
}
FILES = {".gemini/settings.json": json.dumps(_SETTINGS)}
HOST_FILES: dict[str, str] = {}
PASSED: tuple[str, ...] = ()
NOTE: str | None = "mcp_probe_add"
SETTINGS = ".gemini/settings.json"
STEP = OWN_STEP
write = tool_call("write_file", "file_path", "content")
edit = tool_call("replace", "file_path", "old_string", "new_string", instruction="Change the line.")
read = tool_call("read_file", "file_path")
shell = tool_call("run_shell_command", "command", description="a command")
subagent = tool_call("invoke_agent", None, "prompt", agent_name="generalist")
thread = value_printed("session_id")
loosened = with_members(hooksConfig={"enabled": False})


def report(text: str) -> Turn:
    return tool_turn(("complete_task", {"result": {"response": text}}))


def argv(program: str, prompt: str, thread: str | None, home: AnyPath) -> list[str]:
    """Gemini CLI itself refuses to write outside of its folders, so the home is one: Handrail has to deny it."""
    shape = ["-p", prompt, *_SHAPE, "--include-directories", str(home)]
    return [program, *shape, *(["--resume", thread] if thread else [])]


def with_server(command: list[str]) -> dict[str, str]:
    server = {"command": command[0], "args": command[1:], "trust": True}
    return {SETTINGS: json.dumps({**_SETTINGS, "mcpServers": {"probe": server}})}


def with_rewrite(_home: AnyPath, command: str) -> dict[str, str]:
    output = {"hookEventName": "BeforeTool", "tool_input": {"command": command, "description": "a command"}}
    hook = {"type": "command", "command": printing({"hookSpecificOutput": output})}
    entry = {"matcher": "run_shell_command", "hooks": [hook]}
    return {SETTINGS: json.dumps({**_SETTINGS, "hooks": {"BeforeTool": [entry]}})}
