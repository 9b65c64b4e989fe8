"""Gemini CLI as a host: translates its hook messages to Handrail's requests, and answers back.

Without an answer, Gemini CLI decides as it would without Handrail. `install` defines what is installed. Runs at every
tool call, so it imports little, and only from the standard library.
"""

from __future__ import annotations

import sys

from handrail.agents import requests
from handrail.agents.gemini.tools import (
    AGENT_TOOL,
    CANCELS,
    HARMLESS,
    OWN_STEP,
    SENDS_ON,
    SERVER,
    STARTED,
    STARTS,
    aliases,
    arguments,
    foreign_aliases,
)
from handrail.agents.requests import conversation, step_caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.extensions.contracts import Recipe, Stubs
    from handrail.extensions.contracts.agent import Commands, Enforcement
    from handrail.extensions.contracts.messages import Context, HostAnswer, HostRequest, RequestOrigin, Verdict

__all__ = ["aliases", "arguments", "conversation", "step_caller"]

COMMANDS: Commands = {"start": "/workflow", "cancel": "/cancel-workflow"}
CONVERSATION: str | None = "GEMINI_SESSION_ID"
ENFORCES: Mapping[str, Enforcement] = {**requests.ENFORCED, "tools": "partial", "stop": "partial"}
"""`tools`: with `--acp`, Gemini CLI calls no hook at all. `stop`: its loop detector ends a turn without one."""
LINKS = True
_OWN_COMMAND = [sys.executable, "-I", "-m", "handrail", "mcp", "--agent", "gemini"]


def request(data: Mapping[str, Any]) -> HostRequest | None:
    """The hook message as a request; None for an event that Handrail ignores."""
    event = data["hook_event_name"]
    if event == "BeforeTool":
        return _before_tool(data)
    origin = requests.hook_origin(data)
    if event == "BeforeAgent":
        return _prompt(str(data.get("prompt") or ""), origin)
    if event == "BeforeModel":
        return {**origin, "event": "model", "messages": len(_messages(data))}
    if event in ("SessionStart", "PreCompress"):
        return _begin(data, origin)
    if event == "AfterTool" and data["tool_name"] == AGENT_TOOL:
        return {**origin, "event": "subagent-end"}
    if event == "AfterAgent":
        from handrail.agents.gemini.transcript import was_interrupted

        return requests.stop(origin, was_aborted=was_interrupted(origin["transcript"]))
    return None


def _begin(data: Mapping[str, Any], origin: RequestOrigin) -> HostRequest:
    """A conversation was resumed, compressed, or begun as a copy of another. It is told at its next prompt.

    What a hook adds when a conversation begins hides the first prompt when the conversation is resumed later.
    """
    if data["hook_event_name"] == "PreCompress":
        return {**origin, "event": "begin", "source": "compacting", "waits": True}
    from handrail.agents.gemini.transcript import copy_of

    copy = copy_of(origin["transcript"], origin["conversation"])
    if copy is None:
        return {**origin, "event": "begin", "source": "resume", "waits": True}
    return {**origin, "event": "begin", "transcript": copy, "source": "fork", "waits": True}


def _before_tool(data: Mapping[str, Any]) -> HostRequest:
    origin, tool, server = requests.hook_origin(data), str(data["tool_name"]), data.get("mcp_context")
    given = requests.given(data.get("tool_input"))
    if tool == OWN_STEP and _is_own_server(server):
        return requests.step(origin, tool, given, is_subagent=False)
    name = str(server.get("server_name") or "") if isinstance(server, dict) else ""
    names, call = foreign_aliases(tool, name) or aliases(tool), arguments(tool, given, origin["cwd"])
    about = requests.tool(origin, tool, names, call, is_harmless=tool in HARMLESS)
    return {**about, "runs_subagent": tool == AGENT_TOOL}


def _is_own_server(server: Any) -> bool:
    """True if the tool's server was started by the command that we install. Any server can be called `handrail`."""
    if not isinstance(server, dict):
        return False
    args = server.get("args")
    given = [server.get("command"), *(args if isinstance(args, list) else ())]
    return server.get("server_name") == SERVER and given == _OWN_COMMAND


def _prompt(text: str, origin: RequestOrigin) -> HostRequest | None:
    """A prompt, or a command that a person typed. None for a reminder of ours, which comes in the same turn."""
    if text.startswith(SENDS_ON):
        return None
    if text.strip() == CANCELS:
        return requests.command(origin, "cancel")
    if text.startswith(STARTS) and STARTED in text:
        return requests.command(origin, "start", text[len(STARTS) : text.rindex(STARTED)])
    return requests.prompt(origin)


def _messages(data: Mapping[str, Any]) -> list[Any]:
    asked = data.get("llm_request")
    messages = asked.get("messages") if isinstance(asked, dict) else None
    return messages if isinstance(messages, list) else []


def reply(data: Mapping[str, Any], request: HostRequest, answer: HostAnswer) -> dict[str, Any] | None:
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
        notice = requests.for_person(answer)
        return {"systemMessage": notice} if notice else None
    if answer["kind"] != "context":
        return None
    return _before_model(data, answer) if request["event"] == "model" else _context(answer)


def _context(answer: Context) -> dict[str, Any] | None:
    """The text goes into the history of the conversation; the person sees where the workflow stands."""
    out: dict[str, Any] = {}
    if answer["text"]:
        out["hookSpecificOutput"] = {"hookEventName": "BeforeAgent", "additionalContext": answer["text"]}
    notices = [text for text in (answer["status_line"], answer["notice"]) if text]
    if notices:
        out["systemMessage"] = "\n".join(notices)
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
    given = requests.with_caller(data.get("tool_input"), conversation(data), data.get("timestamp"), data.get("cwd"))
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


def recipe(env: Mapping[str, str], project: str | None, stubs: Stubs) -> Recipe:
    from handrail.agents.gemini.install import GeminiRecipe

    return GeminiRecipe(env, project, stubs)
