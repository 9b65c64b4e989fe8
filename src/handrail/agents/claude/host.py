"""Claude Code as a host: translates its hook messages to Handrail's requests, and answers back.

Without an answer, Claude Code decides as it would without Handrail. `install` defines the stubs. Runs at every tool
call, so it imports little, and only from the standard library.
"""

from __future__ import annotations

from handrail import STEP_TOOL
from handrail.agents import requests
from handrail.agents.claude.tools import HARMLESS, LAST, PROJECT_STEP, aliases, arguments, foreign_aliases
from handrail.agents.requests import conversation, step_caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.extensions.contracts import Recipe, Stubs
    from handrail.extensions.contracts.agent import Commands, Enforcement
    from handrail.extensions.contracts.messages import (
        CommandTyped,
        Context,
        HostAnswer,
        HostRequest,
        PromptGiven,
        RequestOrigin,
        Verdict,
    )

__all__ = ["aliases", "arguments", "conversation", "step_caller"]

COMMANDS: Commands = {"start": "/workflow", "cancel": "/cancel-workflow"}
CONVERSATION: str | None = "CLAUDE_CODE_SESSION_ID"
ENFORCES: Mapping[str, Enforcement] = requests.ENFORCED
LINKS = True
MAX_CONTEXT = 9_900
_OURS = "handrail"
_COMMANDS = {"workflow": "start", "cancel-workflow": "cancel"}


def request(data: Mapping[str, Any]) -> HostRequest | None:
    """The hook message as a request; None for an event that Handrail ignores."""
    event = data["hook_event_name"]
    if event == "PreToolUse":
        return _before_tool(data)
    origin = requests.hook_origin(data)
    if event == "UserPromptSubmit":
        return _prompt(data, origin)
    if event == "UserPromptExpansion":
        return _command(data, origin)
    if event == "SessionStart":
        return requests.opened(origin, data["source"])
    if event == "SubagentStart":
        return requests.subagent(origin)
    if event == "Stop":
        from handrail.agents.claude import transcript

        hands_off = transcript.has_queued_cancel(transcript.tail(data.get("transcript_path")))
        return {**requests.stop(origin), "awaits": _background_work(data), "hands_off": hands_off}
    return None


def _before_tool(data: Mapping[str, Any]) -> HostRequest:
    origin, tool, given = requests.hook_origin(data), str(data["tool_name"]), requests.given(data.get("tool_input"))
    names, is_subagent = aliases(tool), bool(data.get("agent_id"))
    if STEP_TOOL in names or tool == PROJECT_STEP:
        names = foreign_aliases(tool)
        if _is_own_server(tool, data.get("mcp_server")):
            step = requests.step(origin, tool, given, is_subagent=is_subagent)
            if tool == PROJECT_STEP:
                step["aliases"], step["installed"] = names, (".mcp.json", "mcpServers", _OURS)
            return step
    call, is_harmless = arguments(tool, given, origin["cwd"]), tool in HARMLESS
    about = requests.tool(origin, tool, names, call, is_harmless=is_harmless, is_subagent=is_subagent)
    return {**about, "is_last": tool == LAST}


def _is_own_server(tool: str, server: Any) -> bool:
    """False if the tool's server is not where ours is. Claude Code tells where it found a server since 2.1.325.

    Another server can have the name of ours, so the tool's name alone proves nothing.
    """
    if not isinstance(server, dict):
        return True
    return bool(server.get("source") == ("project" if tool == PROJECT_STEP else "plugin"))


def _prompt(data: Mapping[str, Any], origin: RequestOrigin) -> PromptGiven:
    text = str(data.get("prompt", ""))
    words = text.split(None, 1)
    is_start = bool(words) and _command_name(words[0]) == "workflow"
    prompt = requests.prompt(origin, data.get("prompt_id"))
    prompt["starts"] = " ".join(words[1:]) if is_start else None
    if text.startswith("<task-notification>"):
        from handrail.agents.claude import transcript

        prompt["by_person"] = False
        prompt["was_interrupted"] = transcript.was_interrupted(transcript.tail(data.get("transcript_path")))
    return prompt


def _command(data: Mapping[str, Any], origin: RequestOrigin) -> CommandTyped | None:
    name = _COMMANDS.get(_command_name("/" + str(data.get("command_name", ""))))
    if name is None:
        return None
    arguments = str(data.get("command_args", ""))
    return requests.command(origin, "start" if name == "start" else "cancel", arguments, data.get("prompt_id"))


def _command_name(word: str) -> str:
    """`workflow` of `/workflow` and of `/handrail:workflow`; empty for a command of another plugin."""
    prefix, _, name = word[1:].rpartition(":")
    return name if word.startswith("/") and prefix in ("", _OURS) else ""


def _background_work(data: Mapping[str, Any]) -> tuple[str, ...]:
    """The ids of the background tasks that are still running."""
    tasks = data.get("background_tasks")
    listed = tasks if isinstance(tasks, list) else [tasks] if tasks else []
    return tuple(str(task.get("id") if isinstance(task, dict) else task) for task in listed)


def reply(data: Mapping[str, Any], request: HostRequest, answer: HostAnswer) -> dict[str, Any] | None:
    """The answer in the format of the hook; None for an empty answer."""
    del request
    if answer["kind"] == "verdict":
        return _decision(data, answer)
    if answer["kind"] == "held":
        return {"decision": "block", "reason": answer["text"]}
    if answer["kind"] == "notice":
        return {"systemMessage": answer["text"]}
    event = data["hook_event_name"]
    if answer["kind"] == "stop":
        if answer["send_on"]:
            return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": fitting(answer["send_on"])}}
        notice = requests.for_person(answer)
        return {"systemMessage": notice} if notice else None
    return _context(str(event), answer) if answer["kind"] == "context" else None


def _context(event: str, answer: Context) -> dict[str, Any] | None:
    output: dict[str, Any] = {}
    if answer["text"]:
        output["additionalContext"] = fitting(answer["text"])
    if answer["title"] and event == "UserPromptSubmit":
        output["sessionTitle"] = answer["title"]
    out: dict[str, Any] = {"hookSpecificOutput": {"hookEventName": event, **output}} if output else {}
    if answer["notice"]:
        out["systemMessage"] = answer["notice"]
    return out or None


def _decision(data: Mapping[str, Any], answer: Verdict) -> dict[str, Any]:
    """The verdict as hook output. It is `{}` for an allowed call: the stub treats an empty output as a failure."""
    if not answer["allow"]:
        decision: dict[str, Any] = {"permissionDecision": "deny", "permissionDecisionReason": answer["reason"]}
    elif answer["rule"] == "workflow-step":
        given, call, cwd = data.get("tool_input"), data.get("tool_use_id"), data.get("cwd")
        updated = requests.with_caller(given, conversation(data), call, cwd, data.get("agent_id"))
        decision = {"permissionDecision": "allow", "updatedInput": updated}
    else:
        return {}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}


def fitting(text: str) -> str:
    """The text, cut to the length that Claude Code passes on. It replaces a longer text by the name of a file.

    Claude Code counts UTF-16 units, as JavaScript does: most emoji are two units.
    """
    units = text.encode("utf-16-le", "surrogatepass")
    if len(units) <= 2 * MAX_CONTEXT:
        return text
    note = '\n\n[This text was cut. Call workflow_step with action "status" for the whole text.]'
    return units[: 2 * (MAX_CONTEXT - len(note))].decode("utf-16-le", "ignore") + note


def protected(env: Mapping[str, str], home: str, project: str) -> tuple[str, ...]:
    """Settings that can add hooks or switch them off, our stubs, and the lists of MCP servers.

    With `CLAUDE_CONFIG_DIR`, Claude Code keeps `.claude.json` there. It reads an old `.config.json` in its place.
    """
    base = env.get("CLAUDE_CONFIG_DIR") or home + "/.claude"
    skills = [f"skills/{name}" for name in (_OURS, *_COMMANDS)]
    names = ("settings.json", "settings.local.json", "plugins", _OURS, *skills)
    below = [f"{folder}/{name}" for folder in (base, project + "/.claude") for name in names]
    lists = (home + "/.claude.json", base + "/.claude.json", base + "/.config.json")
    return (*below, project + "/.mcp.json", *lists)


def was_told(history: bytes, call: str) -> bool:
    return f'"tool_use_id":"{call}"'.encode() in history


def recipe(env: Mapping[str, str], project: str | None, stubs: Stubs) -> Recipe:
    from handrail.agents.claude.install import ClaudeRecipe

    return ClaudeRecipe(env, project, stubs)


def marketplace(stubs: Stubs) -> dict[str, str]:
    """The files of a plugin and a marketplace for Claude Code: path → content."""
    from handrail.agents.claude.install import marketplace

    return marketplace(stubs)


def marketplace_steps(folder: str) -> list[str]:
    return [f"claude plugin marketplace add {folder}", f"claude plugin install {_OURS}@{_OURS}"]
