"""Codex offline against a scripted model: its command line, its variables and files, and calls of its tools.

It writes with patches. It has no tool for reading, so it reads with the shell.
"""

from __future__ import annotations

import json
import os
import re
import shlex

from handrail.agents.codex import install
from handrail.agents.codex.host import OWN_STEP
from handrail.agents.probe.protocols import SPAWN, Responses
from handrail.agents.probe.scripted_model import ScriptedCall, Turn, printing, tool_call, value_printed
from handrail.extensions.contracts.agent import PROJECT, PROMPT, URL, AnyPath

PROTOCOL = Responses
ALLOWED = ("-s", "danger-full-access")
_SHAPE = ("exec", "--json", *ALLOWED, "--skip-git-repo-check")
OPTIONS = (*_SHAPE, PROMPT)
KEY = "CODEX_FAKE_KEY"
"""A variable that Handrail passes on to Codex."""
ENVIRONMENT = {KEY: "fake"}
_CONFIG = f"""\
model = "gpt-5.5"
model_provider = "fake"
check_for_update_on_startup = false
web_search = "disabled"

[analytics]
enabled = false

[model_providers.fake]
name = "fake"
base_url = "{URL}"
env_key = "{KEY}"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
"""
_SEEN = f"""
[features]
multi_agent_v2 = true
daemon_auto_start = false

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"

[tui]
screen_reader_detection_done = true

[projects."{PROJECT}"]
trust_level = "trusted"
"""
"""Subagents for the scripted model, and what Codex writes after a person has answered its first questions."""
FILES = {".codex/config.toml": _CONFIG}
HOST_FILES = {".codex/config.toml": _CONFIG + _SEEN}
PASSED: tuple[str, ...] = ()
NOTE: str | None = "mcp__probe__add"
SETTINGS = ".codex/config.toml"
STEP = OWN_STEP
report = Turn
shell = tool_call("exec_command", "cmd")
thread = value_printed("thread_id")


def write(path: AnyPath, text: str) -> ScriptedCall:
    lines = "".join(f"+{line}\n" for line in text.splitlines())
    return "apply_patch", f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"


def edit(path: AnyPath, old: str, new: str) -> ScriptedCall:
    return "apply_patch", f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch\n"


def read(path: AnyPath) -> ScriptedCall:
    return shell(f"cat {shlex.quote(str(path))}")


def subagent(_program: str, task: str) -> ScriptedCall:
    """Two subagents of a conversation must not have the same name."""
    return SPAWN, {"message": task, "task_name": re.sub("[^a-z0-9]+", "_", task.lower())}


def argv(program: str, prompt: str, thread: str | None, _home: AnyPath) -> list[str]:
    return [program, *_SHAPE, *(["resume", thread] if thread else []), prompt]


def with_server(command: list[str]) -> dict[str, str]:
    own = f"command = {json.dumps(command[0])}\nargs = {json.dumps(command[1:])}\n"
    more = 'omit_tools_from = ["deferred", "code_mode"]\ndefault_tools_approval_mode = "approve"\n'
    return {SETTINGS: f"{_CONFIG}{_SEEN}\n[mcp_servers.probe]\n{own}{more}"}


def with_rewrite(home: AnyPath, command: str) -> dict[str, str]:
    """The hook, and the hash with which Codex trusts it."""
    output = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": command}}
    hook = {"type": "command", "command": printing({"hookSpecificOutput": output}), "timeout": 60}
    group = {"matcher": "Bash", "hooks": [hook]}
    place = os.path.realpath(os.path.join(home, ".codex", "hooks.json"))
    hashes = install.trusted_hashes(place, {"PreToolUse": group}, {})
    trust = "".join(f'\n[hooks.state.{json.dumps(key)}]\ntrusted_hash = "{value}"\n' for key, value in hashes.items())
    hooks = json.dumps({"hooks": {"PreToolUse": [group]}})
    return {SETTINGS: _CONFIG + _SEEN + trust, ".codex/hooks.json": hooks}


def loosened(text: str) -> str:
    return text.replace("[features]\n", "[features]\nhooks = false\n", 1)
