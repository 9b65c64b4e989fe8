"""pi offline against a scripted model: its command line, its variables and files, and calls of its tools.

It exits with 0 even if the model failed; the last message shows the failure.
"""

from __future__ import annotations

import json
import shlex

from handrail import STEP_TOOL
from handrail.agents.probe.protocols import Chat
from handrail.agents.probe.scripted_model import ScriptedCall, Turn, tool_call, value_printed
from handrail.extensions.contracts.agent import PROMPT, URL, AnyPath

PROTOCOL = Chat
MODEL = ("--model", "fake/fake-1")
OPTIONS = ("--mode", "json", "-p", *MODEL, PROMPT)
ENVIRONMENT = {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"}
_ABOUT = {
    "id": "fake-1",
    "contextWindow": 128000,
    "maxTokens": 8192,
    "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75},
}
_PROVIDER = {"baseUrl": URL, "api": "openai-completions", "apiKey": "fake", "models": [_ABOUT]}
_SETTINGS = {"retry": {"maxRetries": 1, "baseDelayMs": 200}}
FILES = {
    ".pi/agent/models.json": json.dumps({"providers": {"fake": _PROVIDER}}),
    ".pi/agent/settings.json": json.dumps(_SETTINGS),
}
HOST_FILES = {".pi/agent/settings.json": json.dumps({**_SETTINGS, "defaultProvider": "fake", "defaultModel": "fake-1"})}
PASSED: tuple[str, ...] = ()
NOTE: str | None = None
SETTINGS = ".pi/agent/extensions/handrail/index.js"
STEP = STEP_TOOL
report = Turn
write = tool_call("write", "path", "content")
read = tool_call("read", "path")
shell = tool_call("bash", "command")
thread = value_printed("id", "session")


def edit(path: AnyPath, old: str, new: str) -> ScriptedCall:
    return "edit", {"path": str(path), "edits": [{"oldText": old, "newText": new}]}


def subagent(program: str, task: str) -> ScriptedCall:
    """pi has no subagents of its own. Extensions start another pi, as this command does."""
    return shell(shlex.join([program, "-p", "--no-session", *MODEL, task]))


def argv(program: str, prompt: str, thread: str | None, _home: AnyPath) -> list[str]:
    more = ["--session", thread] if thread else []
    return [program, "--mode", "json", "-p", *MODEL, "--approve", *more, prompt]


def with_server(_command: list[str]) -> dict[str, str]:
    return {}


def with_rewrite(_home: AnyPath, command: str) -> dict[str, str]:
    change = f'if (event.toolName === "bash") event.input.command = {json.dumps(command)}'
    text = f'export default function (pi) {{ pi.on("tool_call", (event) => {{ {change} }}) }}\n'
    return {".pi/agent/extensions/rewrite/index.js": text}


def loosened(_text: str) -> str:
    """pi has no setting that switches hooks off, so the extension itself is emptied."""
    return "export default function () {}\n"
