"""Claude Code offline against a scripted model: its command line, variables, files, and calls of its tools."""

from __future__ import annotations

import json

from handrail.agents.claude.host import OWN_STEP
from handrail.agents.probe.protocols import Anthropic
from handrail.agents.probe.scripted_model import Turn, printing, tool_call, value_printed, with_members
from handrail.extensions.contracts.agent import PROJECT, PROMPT, URL, AnyPath

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
write = tool_call("Write", "file_path", "content")
edit = tool_call("Edit", "file_path", "old_string", "new_string")
read = tool_call("Read", "file_path")
shell = tool_call("Bash", "command", description="a command")
subagent = tool_call(
    "Agent", None, "prompt", description="a part", subagent_type="general-purpose", run_in_background=False
)
thread = value_printed("session_id")
loosened = with_members(disableAllHooks=True)


def argv(program: str, prompt: str, thread: str | None, _home: AnyPath) -> list[str]:
    return [program, "-p", prompt, *_SHAPE, *(["--resume", thread] if thread else [])]


def with_server(command: list[str]) -> dict[str, str]:
    server = {"type": "stdio", "command": command[0], "args": command[1:], "alwaysLoad": True}
    return {".claude.json": json.dumps({**_START, "mcpServers": {"probe": server}})}


def with_rewrite(_home: AnyPath, command: str) -> dict[str, str]:
    output = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": command}}
    entry = {"matcher": "Bash", "hooks": [{"type": "command", "command": printing({"hookSpecificOutput": output})}]}
    return {SETTINGS: json.dumps({"hooks": {"PreToolUse": [entry]}})}
