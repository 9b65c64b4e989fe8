"""The scripted agent as a host. Its messages are almost Handrail's requests, with the project and the session.

Its tools have Handrail's own names, so `handrail gate` also uses it to read a call if no agent is given. Standard
library only.
"""

from __future__ import annotations

from handrail import TOOLS as TOOLS
from handrail.agents import requests
from handrail.agents.requests import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.extensions.contracts import messages
    from handrail.extensions.contracts.agent import Commands, Enforcement

COMMANDS: Commands = {"start": "handrail start", "cancel": "handrail cancel"}
ENFORCES: dict[str, Enforcement] = {"tools": "hard", "protected files": "hard", "stop": "hard"}
CONVERSATION: str | None = None
LINKS = False
FORMER_TOOLS = ()


def conversation(data: Mapping[str, Any]) -> str:
    return str(data["session"])


def request(data: Mapping[str, Any]) -> messages.HostRequest | None:
    event, project = data["event"], str(data["project"])
    origin: messages.RequestOrigin = {**requests.origin(conversation(data), project), "project": project}
    if event == "tool":
        tool, names = str(data["tool"]), tuple(data.get("aliases") or ())
        return requests.tool(origin, tool, names, arguments(tool, requests.as_object(data.get("input")), origin["cwd"]))
    if event == "prompt":
        return requests.prompt(origin)
    if event == "stop":
        stop = requests.stop(origin, was_aborted=bool(data.get("aborted")))
        return {**stop, "awaits": tuple(data.get("awaits") or ()), "has_progress": data.get("progress")}
    raise ValueError(f"unknown event: {event}")


def reply(
    _data: Mapping[str, Any], _request: messages.HostRequest, answer: messages.HostAnswer
) -> dict[str, Any] | None:
    """The answer as one JSON object, with the key names that the player uses."""
    if answer["kind"] == "verdict":
        return {name: answer[name] for name in ("allow", "reason", "tool", "rule")}
    if answer["kind"] == "stop":
        return {"sendOn": answer["send_on"], "letGo": answer["let_go"], "farewell": answer["farewell"]}
    if answer["kind"] == "context":
        context = {"context": answer["text"], "title": answer["title"], "statusLine": answer["status_line"]}
        return context if answer["text"] else {}
    return {"notice": answer["text"]} if answer["kind"] != "names" else {"names": answer["names"]}


def aliases(_tool: str) -> tuple[str, ...]:
    return ()


def arguments(tool: str, tool_input: Mapping[str, Any], cwd: str) -> messages.CallArguments:
    files = paths(tool_input.get("path") or tool_input.get("file_path"), cwd)
    command = tool_input.get("command")
    return {
        "runs": command if tool == "bash" and isinstance(command, str) else None,
        "reads": files if tool == "read" else (),
        "writes": files if tool in ("edit", "write") else (),
    }


def protected(_env: Mapping[str, str], _home: str, _project: str) -> tuple[str, ...]:
    """Empty: the scripted agent has no settings that control hooks."""
    return ()


def step_caller(arguments: Mapping[str, Any], _meta: Mapping[str, Any]) -> messages.StepCaller:
    return {"conversation": str(arguments.get("session") or ""), "is_subagent": False, "call": ""}
