"""Copilot CLI as a host: translates its hook messages to Handrail's requests, and answers back.

Without an answer, Copilot CLI decides as it would without Handrail. A message does not name its event, so its fields
tell. `install` defines the stubs. Runs at every tool call, so it imports little, and only from the standard library.
"""

from __future__ import annotations

import os

from handrail import FOR_ONE_CALL
from handrail.agents import requests
from handrail.agents.copilot import transcript
from handrail.agents.copilot.tools import (
    ASKED_STEP,
    HANDRAIL,
    HARMLESS,
    OWN_STEP,
    SERVER,
    aliases,
    arguments,
    foreign_aliases,
    typed_command,
)
from handrail.agents.copilot.transcript import kept, was_told
from handrail.agents.requests import step_caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.extensions.contracts import Recipe, Stubs
    from handrail.extensions.contracts.agent import Commands, Enforcement
    from handrail.extensions.contracts.messages import HostAnswer, HostRequest, RequestOrigin, StepCall, Verdict

__all__ = ["aliases", "arguments", "kept", "step_caller", "was_told"]

COMMANDS: Commands = {"start": "/workflow", "cancel": "/cancel-workflow"}
CONVERSATION: str | None = None
ENFORCES: Mapping[str, Enforcement] = {**requests.ENFORCED, "stop": "partial"}
LINKS = True
STOP_CAP = 8
"""How often Copilot CLI lets a hook send the agent on after one prompt."""
SERVERS = (".mcp.json", ".github/mcp.json")
"""Lists of servers in a project. They win over the list of the user."""


def conversation(data: Mapping[str, Any]) -> str:
    """The main conversation of a message. Subagents have ids of their own."""
    if "session_id" in data:
        return str(data["session_id"])  # the status line
    if data.get("transcriptPath"):
        return os.path.basename(os.path.dirname(str(data["transcriptPath"])))
    if data.get("agentId") and data.get("hookName") is None:
        return transcript.root(str(data["parentAgentId"]))
    return str(data["sessionId"])


def request(data: Mapping[str, Any]) -> HostRequest | None:
    """The hook message as a request; None for an event that Handrail ignores.

    A fork is reported as resumed. A conversation with a workflow of its own is not taken for a fork. What a hook adds
    there is lost when the conversation is resumed again, so the agent is told at its next prompt.
    """
    if "toolName" in data:
        return _tool(data)
    if "prompt" in data:
        return _prompt(data)
    if "agentName" in data:  # a subagent that ends has a response
        return None if "response" in data else requests.subagent(_origin(data))
    if "stopReason" in data:
        return _stop(data)
    if "trigger" in data:
        return {**_origin(data), "event": "begin", "source": "compacting", "waits": True}
    if data.get("source") != "resume":
        return None
    return {**_origin(data), "event": "begin", "source": "fork", "waits": True}


def _origin(data: Mapping[str, Any]) -> RequestOrigin:
    """Where a message comes from. The stubs of one call know their conversation, so it is not looked up."""
    named = str(data["sessionId"]) if os.environ.get(FOR_ONE_CALL) else conversation(data)
    return requests.origin(named, data.get("cwd"), transcript.path(named))


def _tool(data: Mapping[str, Any]) -> HostRequest | None:
    tool, given = str(data["toolName"]), _given(data)
    if tool == ASKED_STEP and "toolInput" in data:
        step = _step(data, given)
        return step if "installed" not in step else None
    if "toolInput" in data or "toolResult" in data:
        return None
    if tool == OWN_STEP:
        return _step(data, given)
    origin, is_harmless, is_subagent = _origin(data), tool in HARMLESS, bool(data.get("agentId"))
    call = arguments(tool, given, origin["cwd"])
    about = requests.tool(origin, tool, aliases(tool), call, is_harmless=is_harmless, is_subagent=is_subagent)
    return {**about, "takes_context": True}


def _given(data: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call. Some tools get a text instead of an object."""
    given = data.get("toolArgs", data.get("toolInput"))
    if isinstance(given, str):
        from handrail.base import jsonlite

        try:
            parsed = jsonlite.loads(given)
        except ValueError:
            parsed = {"input": given}
        return parsed if isinstance(parsed, dict) else {"input": given}
    return given if isinstance(given, dict) else {}


def _step(data: Mapping[str, Any], given: Mapping[str, Any]) -> StepCall:
    step = requests.step(_origin(data), OWN_STEP, given, is_subagent=bool(data.get("agentId")))
    claimed = _claimed(step["cwd"])
    if claimed is not None:
        step["aliases"], step["installed"] = foreign_aliases(OWN_STEP), (claimed, "mcpServers", SERVER)
    return step


def _claimed(cwd: str) -> str | None:
    """The list of servers in the project that has a server with our name; None if there is none.

    Servers of a plugin win over it, and the stubs of one call have such a plugin.
    """
    if os.environ.get(FOR_ONE_CALL):
        return None
    for folder in dict.fromkeys((cwd, os.environ.get("COPILOT_PROJECT_DIR") or cwd)):
        for name in SERVERS:
            try:
                with open(f"{folder}/{name}", encoding="utf-8", errors="replace") as file:
                    if SERVER in file.read():
                        return f"{folder}/{name}"
            except FileNotFoundError:
                continue
            except OSError:
                return f"{folder}/{name}"
    return None


def _prompt(data: Mapping[str, Any]) -> HostRequest | None:
    text = str(data["prompt"])
    if data.get("agentId") or "transformedPrompt" in data or text.startswith(HANDRAIL):
        return None
    command = typed_command(text)
    return requests.prompt(_origin(data)) if command is None else requests.command(_origin(data), *command)


def _stop(data: Mapping[str, Any]) -> HostRequest | None:
    if data.get("agentId"):
        return None
    command = typed_command(transcript.last_typed(data.get("transcriptPath")))
    return {
        **requests.stop(_origin(data)),
        "hands_off": command is not None and command[0] == "cancel",
        "cap": STOP_CAP,
        "was_sent_on": bool(data.get("stop_hook_active")),
    }


def reply(data: Mapping[str, Any], request: HostRequest, answer: HostAnswer) -> dict[str, Any] | None:
    """The answer in the format of the hook; None for an empty answer."""
    if answer["kind"] == "verdict":
        return _decision(data, request, answer)
    if answer["kind"] == "held":
        return {"decision": "block", "reason": answer["text"]}
    if answer["kind"] == "stop":
        return {"decision": "block", "reason": HANDRAIL + answer["send_on"]} if answer["send_on"] else None
    if answer["kind"] != "context":
        return None  # no hook can show a notice to the person only
    if "prompt" not in data:
        return {"additionalContext": answer["text"]} if answer["text"] else None
    text = "\n\n".join(text for text in (answer["text"], answer["notice"]) if text)
    return {"additionalContext": text} if text else {}


def _decision(data: Mapping[str, Any], request: HostRequest, answer: Verdict) -> dict[str, Any]:
    """The verdict as hook output. It is `{}` for an allowed call: the stub treats an empty output as a failure."""
    is_step = answer["rule"] == "workflow-step"
    if "toolInput" in data:
        return {"behavior": "allow"} if answer["allow"] and is_step else {}
    if not answer["allow"]:
        return {"permissionDecision": "deny", "permissionDecisionReason": answer["reason"]}
    if not is_step:
        return {"additionalContext": answer["context"]} if answer.get("context") else {}
    call, subagent = f"handrail-{data.get('timestamp')}", str(data.get("agentId") or "")
    own = requests.with_caller(_given(data), request["conversation"], call, request["cwd"], subagent)
    return {"modifiedArgs": own}


def protected(env: Mapping[str, str], home: str, project: str) -> tuple[str, ...]:
    """Settings that can add hooks or switch them off, our stubs and skills, and the lists of MCP servers."""
    base = transcript.home(env, home)
    names = ("settings.json", "config.json", "mcp-config.json", "hooks", "installed-plugins", "handrail")
    skills = ("skills/workflow", "skills/cancel-workflow")
    local = ("hooks", "copilot", "mcp.json", *skills)
    claude = (".claude/settings.json", ".claude/settings.local.json")
    return (
        *(f"{base}/{name}" for name in (*names, *skills)),
        *(f"{project}/.github/{name}" for name in local),
        *(f"{project}/{name}" for name in (".mcp.json", *claude)),
    )


def recipe(env: Mapping[str, str], project: str | None, stubs: Stubs) -> Recipe:
    from handrail.agents.copilot.install import CopilotRecipe

    return CopilotRecipe(env, project, stubs)
