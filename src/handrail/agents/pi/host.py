"""pi as a host: its tools, the messages of our extension as Handrail's requests, our answers to the extension.

The extension (`extension/`) runs inside of pi and keeps one process of Handrail. It passes on pi's events, and does
what the answers say. Runs at every tool call, so it imports little, and only from the standard library.
"""

from __future__ import annotations

import os

from handrail import STEP_TOOL
from handrail.agents import requests
from handrail.agents.requests import SUBAGENT_NAMES, absolute, mcp_aliases, other_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.extensions.contracts import messages
    from handrail.extensions.contracts.agent import Commands, Enforcement

COMMANDS: Commands = {"start": "/workflow", "cancel": "/cancel-workflow"}
CONVERSATION: str | None = None
ENFORCES: Mapping[str, Enforcement] = {**requests.ENFORCED, "subagents": "partial"}
LINKS = True
_FAILED = ("aborted", "error")
"""Why pi ends a turn by itself. A person's interrupt and an error of the model's service are not continued."""
TOOLS = ("bash", "edit", "find", "grep", "ls", "powershell", "read", "write")
FORMER_TOOLS = (
    "codemode", "list_mcp_resource_templates", "list_mcp_resources", "read_mcp_resource", "tool_search",
    "delegate_to_subagents", "subagent", "task",
)  # fmt: skip
"""Tools of the newest version, and tools for subagents, which extensions add. A list may name them."""
HARMLESS = ("tool_search",)
"""Tools that change nothing: this one looks up another tool."""
_NAMES: dict[str, tuple[str, ...]] = {
    "delegate_to_subagents": SUBAGENT_NAMES,
    "find": ("search",),
    "grep": ("search",),
    "ls": ("search",),
    "powershell": ("bash",),
    "subagent": SUBAGENT_NAMES,
    "task": SUBAGENT_NAMES,
}
_READS = ("read", "grep", "find", "ls")
_WRITES = ("edit", "write")
_RUNS = ("bash", "powershell")


def arguments(tool: str, given: Mapping[str, Any], cwd: str) -> messages.CallArguments:
    command = given.get("command")
    paths = _paths(given, cwd)
    return {
        "runs": command if tool in _RUNS and isinstance(command, str) else None,
        "reads": paths if tool in _READS else (),
        "writes": paths if tool in _WRITES else (),
    }


def _paths(given: Mapping[str, Any], cwd: str) -> tuple[str, ...]:
    """The path of a call. pi takes `@path` and `~/path`, too; `file_path` is another name that its models use."""
    path = given.get("path", given.get("file_path"))
    if not isinstance(path, str) or not path:
        return ()
    path = path.removeprefix("@")
    return (os.path.expanduser(path) if path == "~" or path.startswith("~/") else absolute(path, cwd),)


def aliases(tool: str) -> tuple[str, ...]:
    return other_names(tool, _NAMES[tool]) if tool in _NAMES else mcp_aliases(tool)


def conversation(data: Mapping[str, Any]) -> str:
    return str(data["conversation"])


def request(data: Mapping[str, Any]) -> messages.HostRequest | None:
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


def _tool(data: Mapping[str, Any], origin: messages.RequestOrigin) -> messages.HostRequest:
    tool, given, is_subagent = str(data["tool"]), requests.given(data.get("input")), bool(data.get("isSubagent"))
    if tool == STEP_TOOL and data.get("isOwn", True):
        return requests.step(origin, tool, given, is_subagent=is_subagent)
    name = f"{tool} of another extension" if tool == STEP_TOOL else tool
    call, is_harmless = arguments(tool, given, origin["cwd"]), tool in HARMLESS
    return requests.tool(origin, name, aliases(tool), call, is_harmless=is_harmless, is_subagent=is_subagent)


def _branch(data: Mapping[str, Any], origin: messages.RequestOrigin) -> messages.HostRequest:
    request = requests.branch(origin, requests.branch_point(data.get("at")))
    if data.get("states"):
        from handrail.agents.pi.pi_workflows import foreign_state

        request["foreign"], unread = foreign_state(data["states"])
        if unread is not None:
            request["unread"] = unread
    return request


def reply(data: Mapping[str, Any], request: messages.HostRequest, answer: messages.HostAnswer) -> dict[str, Any] | None:
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


def step_caller(arguments: Mapping[str, Any], meta: Mapping[str, Any]) -> messages.StepCaller:
    """Who calls `workflow_step`. The extension tells it; the model's arguments do not count."""
    del arguments
    return requests.caller(meta, "conversation", "isSubagent", "call")
