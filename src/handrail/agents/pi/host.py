"""pi as a host: translates the messages of our extension to Handrail's requests, and answers back.

The extension (`extension/`) runs inside of pi and keeps one process of Handrail. It passes on pi's events, and does
what the answers say. Runs at every tool call, so it imports little, and only from the standard library.
"""

from __future__ import annotations

from handrail import STEP_TOOL
from handrail.agents import requests
from handrail.agents.pi.tools import HARMLESS, aliases, arguments
from handrail.agents.requests import branch_point

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.extensions.contracts import Recipe, Stubs
    from handrail.extensions.contracts.agent import Commands, Enforcement
    from handrail.extensions.contracts.messages import HostAnswer, HostRequest, RequestOrigin, StepCaller

__all__ = ["aliases", "arguments"]

COMMANDS: Commands = {"start": "/workflow", "cancel": "/cancel-workflow"}
CONVERSATION: str | None = None
ENFORCES: Mapping[str, Enforcement] = {**requests.ENFORCED, "subagents": "partial"}
LINKS = True
_FAILED = ("aborted", "error")
"""Why pi ends a turn by itself. A person's interrupt and an error of the model's service are not continued."""


def conversation(data: Mapping[str, Any]) -> str:
    return str(data["conversation"])


def request(data: Mapping[str, Any]) -> HostRequest | None:
    """The message of the extension as a request; None for an event that Handrail ignores."""
    event, origin = data["event"], requests.origin(conversation(data), data.get("cwd"))
    if event == "tool_call":
        return _tool(data, origin)
    if event == "context":
        return requests.model(origin, data.get("told"))
    if event == "agent_end":
        return requests.stop(origin, was_aborted=data.get("stopReason") in _FAILED)
    if event == "command":
        name, arguments = data["name"], str(data.get("arguments") or "")
        return requests.command(origin, "start" if name == "workflow" else "cancel", arguments)
    if event == "branch":
        return _branch(data, origin)
    return {**origin, "event": "names"} if event == "names" else None


def _tool(data: Mapping[str, Any], origin: RequestOrigin) -> HostRequest:
    tool, given, is_subagent = str(data["tool"]), requests.given(data.get("input")), bool(data.get("isSubagent"))
    if tool == STEP_TOOL and data.get("isOwn", True):
        return requests.step(origin, tool, given, is_subagent=is_subagent)
    name = f"{tool} of another extension" if tool == STEP_TOOL else tool
    call, is_harmless = arguments(tool, given, origin["cwd"]), tool in HARMLESS
    return requests.tool(origin, name, aliases(tool), call, is_harmless=is_harmless, is_subagent=is_subagent)


def _branch(data: Mapping[str, Any], origin: RequestOrigin) -> HostRequest:
    request = requests.branch(origin, branch_point(data.get("at")))
    if data.get("states"):
        from handrail.agents.pi.pi_workflows import foreign_state

        request["foreign"], unread = foreign_state(data["states"])
        if unread is not None:
            request["unread"] = unread
    return request


def reply(data: Mapping[str, Any], request: HostRequest, answer: HostAnswer) -> dict[str, Any] | None:
    """The answer in the words of the extension."""
    del data
    if answer["kind"] == "verdict":
        return {"allow": answer["allow"], "reason": answer["reason"]}
    if answer["kind"] == "held":
        return {"held": answer["text"], "again": answer.get("again")}
    if answer["kind"] == "stop":
        return {"sendOn": answer["send_on"], "letGo": answer["let_go"], "farewell": answer["farewell"]}
    if answer["kind"] == "names":
        return {"names": answer["names"]}
    if answer["kind"] == "notice":
        return {"failed": answer["text"]} if request["event"] == "branch" else {"notice": answer["text"]}
    return {"text": answer["text"], "opening": answer.get("opening"), "notice": answer["notice"]}


def protected(env: Mapping[str, str], home: str, project: str) -> tuple[str, ...]:
    """Settings and folders that decide which extensions run, and the histories, which say where a session is."""
    base = env.get("PI_CODING_AGENT_DIR") or home + "/.pi/agent"
    sessions = env.get("PI_CODING_AGENT_SESSION_DIR") or base + "/sessions"
    names = ("settings.json", "extensions", "trust.json")
    return (*[f"{folder}/{name}" for folder in (base, project + "/.pi") for name in names], sessions)


def was_told(history: bytes, call: str) -> bool:
    """Not used: the extension says with each model call what the history has."""
    return call.encode() in history


def step_caller(arguments: Mapping[str, Any], meta: Mapping[str, Any]) -> StepCaller:
    """Who calls `workflow_step`. The extension tells it; the model's arguments do not count."""
    del arguments
    return requests.caller(meta, "conversation", "isSubagent", "call")


def recipe(env: Mapping[str, str], project: str | None, stubs: Stubs) -> Recipe:
    from handrail.agents.pi.install import PiRecipe

    return PiRecipe(env, project, stubs)
