"""Gemini CLI offline against a scripted model: its command line, variables, files, and calls of its tools.

It relaunches itself by default, and a signal would then reach only the first process.
"""

from __future__ import annotations

import json
import shlex

from handrail.agents.gemini.host import OWN_STEP
from handrail.agents.probe.google import Google
from handrail.agents.probe.scripted_model import ScriptedCall, Turn, first_value, tool_turn
from handrail.extensions.contracts.offline import PROMPT, URL, AnyPath

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


def write(path: AnyPath, text: str) -> ScriptedCall:
    return "write_file", {"file_path": str(path), "content": text}


def edit(path: AnyPath, old: str, new: str) -> ScriptedCall:
    given = {"file_path": str(path), "old_string": old, "new_string": new}
    return "replace", {**given, "instruction": "Change the line."}


def read(path: AnyPath) -> ScriptedCall:
    return "read_file", {"file_path": str(path)}


def shell(command: str) -> ScriptedCall:
    return "run_shell_command", {"command": command, "description": "a command"}


def subagent(program: str, task: str) -> ScriptedCall:
    del program
    return "invoke_agent", {"agent_name": "generalist", "prompt": task}


def report(text: str) -> Turn:
    return tool_turn(("complete_task", {"result": {"response": text}}))


def argv(program: str, prompt: str, thread: str | None, home: AnyPath) -> list[str]:
    """Gemini CLI itself refuses to write outside of its folders, so the home is one: Handrail has to deny it."""
    shape = ["-p", prompt, *_SHAPE, "--include-directories", str(home)]
    return [program, *shape, *(["--resume", thread] if thread else [])]


def thread(output: str) -> str | None:
    return first_value(output, "session_id")


def with_server(command: list[str]) -> dict[str, str]:
    server = {"command": command[0], "args": command[1:], "trust": True}
    return {SETTINGS: json.dumps({**_SETTINGS, "mcpServers": {"probe": server}})}


def with_rewrite(home: AnyPath, command: str) -> dict[str, str]:
    del home
    said = {"hookEventName": "BeforeTool", "tool_input": {"command": command, "description": "a command"}}
    run = f"printf '%s' {shlex.quote(json.dumps({'hookSpecificOutput': said}))}"
    entry = {"matcher": "run_shell_command", "hooks": [{"type": "command", "command": run}]}
    return {SETTINGS: json.dumps({**_SETTINGS, "hooks": {"BeforeTool": [entry]}})}


def loosened(text: str) -> str:
    return json.dumps({**json.loads(text), "hooksConfig": {"enabled": False}})
