"""Codex as a host: translates its hook messages to Handrail's requests, and answers back.

Without an answer, Codex decides as it would without Handrail. `install` defines the stubs. Runs at every tool call, so
it imports little, and only from the standard library.
"""

from __future__ import annotations

import os

from handrail.agents import requests
from handrail.agents.codex.tools import (
    AGENT_SHELL,
    HARMLESS,
    OWN_STEP,
    aliases,
    arguments,
    bare_name,
    call_aliases,
    other_tools,
)
from handrail.agents.requests import conversation, mcp_aliases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.extensions.contracts import Recipe, Stubs
    from handrail.extensions.contracts.agent import Commands, Enforcement
    from handrail.extensions.contracts.messages import HostAnswer, HostRequest, RequestOrigin, StepCaller

__all__ = ["aliases", "arguments", "conversation"]

COMMANDS: Commands = {"start": "$workflow", "cancel": "$cancel-workflow"}
CONVERSATION: str | None = None
ENFORCES: dict[str, Enforcement] = {
    "tools": "hard",
    "subagents": "hard",
    "protected files": "hard",
    "shell writes to protected files": "partial",
    "web search of the model's service": "none",
    "stop": "hard",
    "context": "hard",
    "interrupts": "hard",
}
LINKS = True
_TYPED = {"workflow": "start", "cancel-workflow": "cancel"}
_CONFIG = ".codex/config.toml"


def request(data: Mapping[str, Any]) -> HostRequest | None:
    """The hook message as a request; None for an event that Handrail ignores.

    Prompts and stops of a subagent have the id of its main conversation, too, but they are not about it.
    """
    event = data["hook_event_name"]
    if event == "PreToolUse":
        return _before_tool(data)
    origin = requests.hook_origin(data)
    if event == "SubagentStart":
        return requests.subagent(origin)
    if data.get("agent_id"):
        return None
    if event == "UserPromptSubmit":
        return _prompt(data, origin)
    if event == "SessionStart":
        return requests.opened(origin, data["source"])
    return requests.stop(origin) if event == "Stop" else None


def _before_tool(data: Mapping[str, Any]) -> HostRequest:
    """A call of a tool. The settings of a project can name another server as ours is named in the user's."""
    origin, tool, given = requests.hook_origin(data), str(data["tool_name"]), requests.given(data.get("tool_input"))
    is_subagent = bool(data.get("agent_id"))
    if tool == OWN_STEP:
        step = requests.step(origin, OWN_STEP, given, is_subagent=is_subagent)
        step["call_id"] = str(data.get("tool_use_id") or "")
        if _has_project_server(origin["cwd"]):
            step["aliases"], step["installed"] = mcp_aliases(OWN_STEP), (_CONFIG, "mcp_servers", "handrail")
        return step
    names, call = call_aliases(tool, given), arguments(tool, given, origin["cwd"])
    is_harmless = bare_name(tool) in HARMLESS
    about = requests.tool(origin, tool, names, call, is_harmless=is_harmless, is_subagent=is_subagent)
    return {**about, "also": other_tools(tool, given)}


def _has_project_server(cwd: str) -> bool:
    """True if settings of a project, which win over the user's, may define a server with the name of ours."""
    own = os.path.realpath(os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex"))
    folder = os.path.abspath(cwd)
    while True:
        path = os.path.join(folder, _CONFIG)
        if os.path.realpath(os.path.dirname(path)) != own and _mentions_server(path):
            return True
        if folder == os.path.dirname(folder):
            return False
        folder = os.path.dirname(folder)


def _mentions_server(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            text = file.read()
    except FileNotFoundError:
        return False
    except OSError:
        return not os.path.isdir(os.path.dirname(path))
    return b"mcp_servers" in text and b"handrail" in text


def _prompt(data: Mapping[str, Any], origin: RequestOrigin) -> HostRequest:
    """A prompt, or one of our commands: `$workflow`, or `/workflow` with a space before it.

    An agent can start Codex in its shell and resume its own conversation there. Such a prompt is no command.
    """
    name, rest = typed(str(data.get("prompt", "")))
    if name is None or os.environ.get(AGENT_SHELL):
        return requests.prompt(origin, data.get("turn_id"))
    return requests.command(origin, "start" if name == "start" else "cancel", rest, data.get("turn_id"))


def typed(text: str) -> tuple[str | None, str]:
    """The command that a prompt is, and its arguments; None if it is no command of ours.

    A prompt that begins with a line break is none: so a flow can pass on any text.
    """
    text = text.lstrip(" ")
    if text[:1] not in ("$", "/"):
        return None, ""
    word, rest = (*text[1:].split(None, 1), "", "")[:2]
    return _TYPED.get(word), rest


def reply(data: Mapping[str, Any], request: HostRequest, answer: HostAnswer) -> dict[str, Any] | None:
    """The answer in the format of the hook; None for an empty answer.

    The answer about a tool call is `{}` if it is allowed: the stub treats an empty output as a failure.
    """
    del request
    event = data["hook_event_name"]
    if answer["kind"] == "verdict":
        if answer["allow"]:
            return {}
        denial = {"permissionDecision": "deny", "permissionDecisionReason": answer["reason"] or "denied"}
        return {"hookSpecificOutput": {"hookEventName": event, **denial}}
    if answer["kind"] == "held":
        return {"decision": "block", "reason": answer["text"]}
    if answer["kind"] == "notice":
        return {"systemMessage": answer["text"]}
    if answer["kind"] == "stop":
        if answer["send_on"]:
            return {"decision": "block", "reason": answer["send_on"]}
        notice = requests.for_person(answer)
        return {"systemMessage": notice} if notice else None
    if answer["kind"] != "context":
        return None
    out: dict[str, Any] = {}
    if answer["text"]:
        out["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": answer["text"]}
    notice = answer["notice"] or answer["status_line"]
    return {**out, "systemMessage": notice} if notice else out or None


def protected(env: Mapping[str, str], home: str, project: str) -> tuple[str, ...]:
    """Settings that can add hooks or servers or switch them off, our stubs, and the commands."""
    base = env.get("CODEX_HOME") or home + "/.codex"
    present = os.listdir(base) if os.path.isdir(base) else []
    profiles = [name for name in present if name.endswith(".config.toml")]
    names = ("config.toml", "hooks.json", "handrail", "skills/workflow", "skills/cancel-workflow", *profiles)
    return (*(f"{base}/{name}" for name in names), project + "/.codex")


def was_told(history: bytes, call: str) -> bool:
    """True if a line of the history is the result of this call."""
    named = f'"call_id":"{call}"'.encode()
    return any(named in line and b'"function_call_output"' in line for line in history.split(b"\n"))


def forked_from(history: bytes) -> str | None:
    """The parent of a fork. The first line of a history describes the conversation; it has no texts of the parent."""
    from handrail.base import jsonlite

    about = jsonlite.loads(history.partition(b"\n")[0].decode("utf-8", "replace"))
    parent = about["payload"].get("forked_from_id")
    return str(parent) if parent else None


def step_caller(arguments: Mapping[str, Any], meta: Mapping[str, Any]) -> StepCaller:
    """Who calls `workflow_step`. Codex tells it with every call: a subagent has its own thread in the same session.

    Codex skips a hook at another place in `hooks.json` than the one that the person trusts, and tells nobody.
    """
    del arguments
    session, thread = str(meta.get("sessionId") or ""), str(meta.get("threadId") or "")
    about = meta.get("x-codex-turn-metadata")
    is_subagent = isinstance(about, dict) and about.get("thread_source") == "subagent"
    return {
        "conversation": session,
        "is_subagent": is_subagent or thread != session,
        "call": str(meta.get("callId") or ""),
        "needs_hook": True,
    }


def recipe(env: Mapping[str, str], project: str | None, stubs: Stubs) -> Recipe:
    from handrail.agents.codex.install import CodexRecipe

    return CodexRecipe(env, project, stubs)
