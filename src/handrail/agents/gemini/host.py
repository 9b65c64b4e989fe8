"""Gemini CLI as a host: translates its hook messages to Handrail's requests, and answers back.

Without an answer, Gemini CLI decides as it would without Handrail. `stubs` and `install` define what is installed. Runs
at every tool call, so it imports little, and only from the standard library.
"""

from __future__ import annotations

import sys

from handrail.agents.gemini.prompts import CANCELS, SENDS_ON, STARTED, STARTS
from handrail.agents.gemini.tools import (
    AGENT_TOOL,
    HARMLESS,
    OWN_STEP,
    SERVER,
    aliases,
    arguments,
    foreign_aliases,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.contracts import Recipe, Stubs
    from handrail.contracts.host import Commands, Level
    from handrail.contracts.messages import Answer, Context, Request, StepCaller, Verdict

__all__ = ["aliases", "arguments"]

COMMANDS: Commands = {"start": "/workflow", "cancel": "/cancel-workflow"}
CONVERSATION: str | None = "GEMINI_SESSION_ID"
ENFORCES: dict[str, Level] = {
    "tools": "partial",
    "subagents": "hard",
    "protected files": "hard",
    "shell writes to protected files": "partial",
    "stop": "partial",
    "context": "hard",
    "interrupts": "hard",
}
"""`tools`: with `--acp`, Gemini CLI calls no hook at all. `stop`: its loop detector ends a turn without one."""
LINKS = True


def conversation(data: Mapping[str, Any]) -> str:
    return str(data["session_id"])


def request(data: Mapping[str, Any]) -> Request | None:
    """The hook message as a request; None for an event that Handrail ignores."""
    event = data["hook_event_name"]
    if event == "BeforeTool":
        return _before_tool(data)
    conversation, cwd, transcript = _common_fields(data)
    if event == "BeforeAgent":
        return _prompt(str(data.get("prompt") or ""), conversation, cwd, transcript)
    if event == "BeforeModel":
        return {
            "event": "model",
            "conversation": conversation,
            "cwd": cwd,
            "transcript": transcript,
            "messages": len(_messages(data)),
        }
    if event in ("SessionStart", "PreCompress"):
        return _begin(data)
    if event == "AfterTool" and data["tool_name"] == AGENT_TOOL:
        return {"event": "subagent-end", "conversation": conversation, "cwd": cwd, "transcript": transcript}
    if event == "AfterAgent":
        return {
            "event": "stop",
            "conversation": conversation,
            "cwd": cwd,
            "transcript": transcript,
            "awaits": (),
            "hands_off": False,
            "was_aborted": _was_interrupted(transcript),
            "has_progress": None,
        }
    return None


def _begin(data: Mapping[str, Any]) -> Request:
    """A conversation was resumed, compressed, or begun as a copy of another. It is told at its next prompt.

    What a hook adds when a conversation begins hides the first prompt when the conversation is resumed later.
    """
    from handrail.agents.gemini import transcript

    conversation, cwd, path = _common_fields(data)
    is_compacting = data["hook_event_name"] == "PreCompress"
    copy = None if is_compacting else transcript.copy_of(path, conversation)
    return {
        "event": "begin",
        "conversation": conversation,
        "cwd": cwd,
        "transcript": copy or path,
        "source": "compacting" if is_compacting else "fork" if copy else "resume",
        "waits": True,
    }


def _was_interrupted(path: str | None) -> bool:
    from handrail.agents.gemini import transcript

    return transcript.was_interrupted(path)


def _common_fields(data: Mapping[str, Any]) -> tuple[str, str, str | None]:
    return str(data["session_id"]), str(data.get("cwd") or "."), data.get("transcript_path") or None


def _before_tool(data: Mapping[str, Any]) -> Request:
    conversation, cwd, transcript = _common_fields(data)
    tool, given, server = str(data["tool_name"]), data.get("tool_input"), data.get("mcp_context")
    if not isinstance(given, dict):
        given = {}
    if tool == OWN_STEP and _is_own_server(server):
        return {
            "event": "step",
            "conversation": conversation,
            "cwd": cwd,
            "transcript": transcript,
            "tool": tool,
            "action": str(given.get("action")),
            "is_subagent": False,
        }
    name = str(server.get("server_name") or "") if isinstance(server, dict) else ""
    return {
        "event": "tool",
        "conversation": conversation,
        "cwd": cwd,
        "transcript": transcript,
        "tool": tool,
        "aliases": foreign_aliases(tool, name) or aliases(tool),
        "call": arguments(tool, given, cwd),
        "is_harmless": tool in HARMLESS,
        "is_subagent": False,
        "runs_subagent": tool == AGENT_TOOL,
    }


def _is_own_server(server: Any) -> bool:
    """True if the tool's server was started by the command that we install. Any server can be called `handrail`."""
    if not isinstance(server, dict):
        return False
    args = server.get("args")
    given = [server.get("command"), *(args if isinstance(args, list) else ())]
    return server.get("server_name") == SERVER and given == [sys.executable, *server_arguments()]


def server_arguments() -> list[str]:
    """The arguments with which Python runs the server of `workflow_step`."""
    return ["-I", "-m", "handrail", "mcp", "--agent", "gemini"]


def _prompt(text: str, conversation: str, cwd: str, transcript: str | None) -> Request | None:
    """A prompt, or a command that a person typed. None for a reminder of ours, which comes in the same turn."""
    if text.startswith(SENDS_ON):
        return None
    is_cancel = text.strip() == CANCELS
    if is_cancel or (text.startswith(STARTS) and STARTED in text):
        return {
            "event": "command",
            "conversation": conversation,
            "cwd": cwd,
            "transcript": transcript,
            "name": "cancel" if is_cancel else "start",
            "arguments": "" if is_cancel else text[len(STARTS) : text.rindex(STARTED)],
        }
    return {
        "event": "prompt",
        "conversation": conversation,
        "cwd": cwd,
        "transcript": transcript,
        "starts": None,
        "by_person": True,
        "was_interrupted": False,
    }


def _messages(data: Mapping[str, Any]) -> list[Any]:
    asked = data.get("llm_request")
    messages = asked.get("messages") if isinstance(asked, dict) else None
    return messages if isinstance(messages, list) else []


def reply(data: Mapping[str, Any], request: Request, answer: Answer) -> dict[str, Any] | None:
    """The answer in the format of the hook; None for an empty answer."""
    if answer["kind"] == "verdict":
        return _decision(data, answer)
    if answer["kind"] == "held":
        return {"decision": "deny", "reason": answer["text"], "systemMessage": answer["text"]}
    if answer["kind"] == "notice":
        return {"systemMessage": answer["text"]}
    if answer["kind"] == "stop":
        if answer["send_on"]:
            return {"decision": "deny", "reason": SENDS_ON + answer["send_on"]}
        told = answer["farewell"] or answer["let_go"]
        return {"systemMessage": told} if told else None
    if answer["kind"] != "context":
        return None
    return _before_model(data, answer) if request["event"] == "model" else _context(answer)


def _context(answer: Context) -> dict[str, Any] | None:
    """The text goes into the history of the conversation; the person sees where the workflow stands."""
    out: dict[str, Any] = {}
    if answer["text"]:
        out["hookSpecificOutput"] = {"hookEventName": "BeforeAgent", "additionalContext": answer["text"]}
    told = [text for text in (answer["status_line"], answer["notice"]) if text]
    if told:
        out["systemMessage"] = "\n".join(told)
    return out or None


def _before_model(data: Mapping[str, Any], answer: Context) -> dict[str, Any] | None:
    """One more message in this call of the model. Gemini CLI replaces all messages by those that a hook returns."""
    if not answer["text"]:
        return None
    messages = [*_messages(data), {"role": "user", "content": answer["text"]}]
    return {"hookSpecificOutput": {"hookEventName": "BeforeModel", "llm_request": {"messages": messages}}}


def _decision(data: Mapping[str, Any], answer: Verdict) -> dict[str, Any]:
    """The verdict as hook output. It is `{}` for an allowed call: the stub treats an empty output as a failure."""
    if not answer["allow"]:
        return {"decision": "deny", "reason": answer["reason"]}
    if answer["rule"] != "workflow-step":
        return {}
    who = {"session_id": data["session_id"], "call_id": data.get("timestamp") or "", "cwd": data.get("cwd") or ""}
    given = {**(data.get("tool_input") or {}), **who}
    return {"hookSpecificOutput": {"hookEventName": "BeforeTool", "tool_input": given}}


def protected(env: Mapping[str, str], home: str, project: str) -> tuple[str, ...]:
    """Settings that can add hooks or switch them off, our stubs and commands, policies, lists of trusted folders."""
    homes = [folder for folder in (env.get("GEMINI_CLI_HOME"), home) if folder]
    names = ("settings.json", ".env", SERVER, "commands", "policies", "extensions")
    below = [f"{folder}/.gemini/{name}" for folder in (*homes, project) for name in names]
    own = [f"{folder}/.gemini/trusted{name}" for folder in homes for name in ("Folders.json", "_hooks.json")]
    return (*below, *own, project + "/.env")


def was_told(history: bytes, call: str) -> bool:
    """Gemini CLI records the arguments of a call, as the gate changed them, together with its result."""
    return f'"call_id":"{call}"'.encode() in history


def step_caller(arguments: Mapping[str, Any], meta: Mapping[str, Any]) -> StepCaller:
    """Who calls `workflow_step`. `reply` added this to the arguments; the gate denies moves of subagents."""
    del meta
    return {
        "conversation": str(arguments.get("session_id") or ""),
        "is_subagent": False,
        "call": str(arguments.get("call_id") or ""),
        "cwd": str(arguments.get("cwd") or ""),
    }


def recipe(env: Mapping[str, str], project: str | None, stubs: Stubs) -> Recipe:
    from handrail.agents.gemini.install import recipe

    return recipe(env, project, stubs)
