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
ORIGIN = "pi-workflows"
_STATE_ENTRY = "workflow:state"
_REQUIRED: dict[str, type] = {"workflowKey": str, "active": bool}
_OPTIONAL: dict[str, type] = {"taskId": str, "completionNotified": bool, "cancelled": bool}


def arguments(tool: str, tool_input: Mapping[str, Any], cwd: str) -> messages.CallArguments:
    command = tool_input.get("command")
    paths = _paths(tool_input, cwd)
    return {
        "runs": command if tool in _RUNS and isinstance(command, str) else None,
        "reads": paths if tool in _READS else (),
        "writes": paths if tool in _WRITES else (),
    }


def _paths(tool_input: Mapping[str, Any], cwd: str) -> tuple[str, ...]:
    """The path of a call. pi takes `@path` and `~/path`, too; `file_path` is another name that its models use."""
    path = tool_input.get("path", tool_input.get("file_path"))
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
    if event == "input":
        return requests.prompt(origin)
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
    tool, is_subagent = str(data["tool"]), bool(data.get("isSubagent"))
    tool_input, message = requests.as_object(data.get("input")), str(data.get("message") or "")
    if tool == STEP_TOOL and data.get("isOwn", True):
        step = requests.step(origin, tool, tool_input, is_subagent=is_subagent)
        return {**step, "message": message, "call": str(data.get("call") or "")}
    name = f"{tool} of another extension" if tool == STEP_TOOL else tool
    call, is_harmless = arguments(tool, tool_input, origin["cwd"]), tool in HARMLESS
    about = requests.tool(origin, name, aliases(tool), call, is_harmless=is_harmless, is_subagent=is_subagent)
    return {**about, "message": message}


def _branch(data: Mapping[str, Any], origin: messages.RequestOrigin) -> messages.HostRequest:
    request = requests.branch(origin, requests.branch_point(data.get("at")))
    if data.get("states"):
        request["foreign"], unread = foreign_state(data["states"])
        if unread is not None:
            request["unread"] = unread
    return request


def foreign_state(entries: list[Any]) -> tuple[messages.ForeignState | None, str | None]:
    """The newest state that pi-workflows wrote into a session log, and why it cannot be used; or None and None."""
    data = next((data for data in map(_state, reversed(entries)) if data is not None), None)
    if data is None:
        return None, None
    state = _foreign_state_of(data)
    return state, None if state else f"The state that {ORIGIN} stored here is damaged. Handrail leaves it."


def _state(entry: Any) -> dict[str, Any] | None:
    if not isinstance(entry, dict) or (entry.get("type"), entry.get("customType")) != ("custom", _STATE_ENTRY):
        return None
    data = entry.get("data")
    return data if isinstance(data, dict) and data.get("workflowKey") is not None else None


def _foreign_state_of(data: dict[str, Any]) -> messages.ForeignState | None:
    required = all(isinstance(data.get(name), kind) for name, kind in _REQUIRED.items())
    optional = all(isinstance(data[name], kind) for name, kind in _OPTIONAL.items() if name in data)
    path, started = _path(data), data.get("startedAt")
    if not (required and optional and path and _is_number(started)):
        return None
    steps = _non_negative_int(data.get("globalStepCount", path[0][1]))
    if steps is None:
        return None
    task = data.get("taskDescription")
    return {
        "origin": ORIGIN,
        "workflow": data["workflowKey"],
        "path": path,
        "status": "active" if data["active"] else "cancelled" if data.get("cancelled") else "done",
        "steps": steps,
        "task": task if isinstance(task, str) else "",
        "task_id": data.get("taskId", ""),
        "started": data["startedAt"] / 1000,
        "told": data.get("completionNotified", False),
    }


def _path(data: dict[str, Any]) -> tuple[tuple[str, int], ...]:
    """The stack; empty if the entry is damaged. An old entry has one index, which becomes a stack of one."""
    segments = data.get("currentPath")
    if segments is None and "currentPhaseIndex" in data:
        segments = [{"workflowKey": data["workflowKey"], "phaseIndex": data["currentPhaseIndex"]}]
    path: list[tuple[str, int]] = []
    for segment in segments if isinstance(segments, list) else ():
        key = segment.get("workflowKey") if isinstance(segment, dict) else None
        index = _non_negative_int(segment.get("phaseIndex")) if isinstance(segment, dict) else None
        if not isinstance(key, str) or index is None:
            return ()
        path.append((key, index))
    return tuple(path)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _non_negative_int(value: Any) -> int | None:
    """The value as an int if it is a whole number >= 0, else None."""
    return int(value) if _is_number(value) and value >= 0 and value % 1 == 0 else None


def reply(
    _data: Mapping[str, Any], request: messages.HostRequest, answer: messages.HostAnswer
) -> dict[str, Any] | None:
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


def step_caller(_arguments: Mapping[str, Any], meta: Mapping[str, Any]) -> messages.StepCaller:
    """Who calls `workflow_step`. The extension tells it; the model's arguments do not count."""
    return requests.caller(meta, "conversation", "isSubagent", "call")
