"""Claude Code offline against a scripted model: its command line, variables, files, and calls of its tools."""

from __future__ import annotations

import json
import shlex

from handrail.agents.claude.host import OWN_STEP
from handrail.agents.probe.anthropic import Anthropic
from handrail.agents.probe.scripted_model import ScriptedCall, Turn, first_value
from handrail.extensions.contracts.offline import PROJECT, PROMPT, URL, AnyPath

PROTOCOL = Anthropic
ALLOWED = ("--permission-mode", "bypassPermissions")
_SHAPE = ("--output-format", "stream-json", "--verbose", *ALLOWED)
OPTIONS = ("-p", PROMPT, *_SHAPE)
ENVIRONMENT = {
    "ANTHROPIC_BASE_URL": URL,
    "ANTHROPIC_API_KEY": "fake",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "1",
    "IS_SANDBOX": "1",
}
_START = {
    "hasCompletedOnboarding": True,
    "theme": "dark",
    "lastOnboardingVersion": "9.9.9",
    "bypassPermissionsModeAccepted": True,
    "customApiKeyResponses": {"approved": ["fake"], "rejected": []},
    "projects": {PROJECT: {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
}
FILES = {".claude.json": json.dumps(_START)}
HOST_FILES: dict[str, str] = {}
PASSED: tuple[str, ...] = ()
NOTE: str | None = "mcp__probe__add"
SETTINGS = ".claude/settings.json"
STEP = OWN_STEP
report = Turn


def write(path: AnyPath, text: str) -> ScriptedCall:
    return "Write", {"file_path": str(path), "content": text}


def edit(path: AnyPath, old: str, new: str) -> ScriptedCall:
    return "Edit", {"file_path": str(path), "old_string": old, "new_string": new}


def read(path: AnyPath) -> ScriptedCall:
    return "Read", {"file_path": str(path)}


def shell(command: str) -> ScriptedCall:
    return "Bash", {"command": command, "description": "a command"}


def subagent(program: str, task: str) -> ScriptedCall:
    del program
    kind = {"subagent_type": "general-purpose", "run_in_background": False}
    return "Agent", {"description": "a part", "prompt": task, **kind}


def argv(program: str, prompt: str, thread: str | None, home: AnyPath) -> list[str]:
    del home
    return [program, "-p", prompt, *_SHAPE, *(["--resume", thread] if thread else [])]


def thread(output: str) -> str | None:
    return first_value(output, "session_id")


def with_server(command: list[str]) -> dict[str, str]:
    server = {"type": "stdio", "command": command[0], "args": command[1:], "alwaysLoad": True}
    return {".claude.json": json.dumps({**_START, "mcpServers": {"probe": server}})}


def with_rewrite(home: AnyPath, command: str) -> dict[str, str]:
    del home
    said = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": command}}
    run = f"printf '%s' {shlex.quote(json.dumps({'hookSpecificOutput': said}))}"
    entry = {"matcher": "Bash", "hooks": [{"type": "command", "command": run}]}
    return {SETTINGS: json.dumps({"hooks": {"PreToolUse": [entry]}})}


def loosened(text: str) -> str:
    return json.dumps({**json.loads(text), "disableAllHooks": True})
