"""What the hosts of several agents share: requests, reading of tool calls, files of plugins in JavaScript.

Runs at every tool call, so it imports only `os`, which every process has already. `child.js` is part of every plugin:
it keeps one process, `handrail serve`, and asks it. The files are read from this folder, so this module stays in it.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from handrail.extensions.contracts import messages
    from handrail.extensions.contracts.agent import Enforcement
    from handrail.extensions.contracts.messages import CallArguments, PromptGiven, RequestOrigin, StepCaller


ENFORCED: dict[str, Enforcement] = {
    "tools": "hard",
    "subagents": "hard",
    "protected files": "hard",
    "shell writes to protected files": "partial",
    "stop": "hard",
    "context": "hard",
    "interrupts": "hard",
}
"""What most hosts enforce. Each host says where it differs."""


def origin(conversation: str, cwd: Any, transcript: Any = None) -> RequestOrigin:
    """Where a request comes from. Hosts may leave out the folder and the transcript."""
    return {"conversation": conversation, "cwd": str(cwd or "."), "transcript": transcript or None}


def conversation(data: Mapping[str, Any]) -> str:
    """The conversation of a hook's message, for the agents that have this name of the field."""
    return str(data["session_id"])


def hook_origin(data: Mapping[str, Any]) -> RequestOrigin:
    """Where the message of a hook comes from, for the agents that have these names of fields."""
    return origin(conversation(data), data.get("cwd"), data.get("transcript_path"))


def as_object(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def tool(
    origin: RequestOrigin,
    name: str,
    names: tuple[str, ...],
    call: CallArguments,
    *,
    is_harmless: bool = False,
    is_subagent: bool = False,
) -> messages.ToolCall:
    return {
        **origin,
        "event": "tool",
        "tool": name,
        "aliases": names,
        "call": call,
        "is_harmless": is_harmless,
        "is_subagent": is_subagent,
    }


def step(origin: RequestOrigin, tool: str, arguments: Mapping[str, Any], *, is_subagent: bool) -> messages.StepCall:
    action = str(arguments.get("action"))
    return {**origin, "event": "step", "tool": tool, "action": action, "is_subagent": is_subagent}


def prompt(origin: RequestOrigin, turn: str | None = None) -> PromptGiven:
    """A prompt of a person that is no command of ours."""
    request: PromptGiven = {**origin, "event": "prompt", "starts": None, "by_person": True, "was_interrupted": False}
    return request if turn is None else {**request, "turn": turn}


def command(
    origin: RequestOrigin, name: Literal["start", "cancel"], arguments: str = "", turn: str | None = None
) -> messages.CommandTyped:
    request: messages.CommandTyped = {**origin, "event": "command", "name": name, "arguments": arguments}
    return request if turn is None else {**request, "turn": turn}


def conversation_opened(origin: RequestOrigin, source: str) -> messages.ConversationOpened:
    """A conversation was opened. `source` is the word of a host that has `compact` and `fork`, and words for others."""
    kind: Literal["compact", "fork", "resume"] = "compact" if source == "compact" else "resume"
    return {**origin, "event": "begin", "source": "fork" if source == "fork" else kind}


def model(origin: RequestOrigin, marks: Any) -> messages.ModelCalled:
    """The model is about to be called. A plugin found the `marks` in the history."""
    return {**origin, "event": "model", "told": tuple(str(mark) for mark in marks or ())}


def branch(origin: RequestOrigin, at: messages.BranchPoint | None) -> messages.BranchChanged:
    return {**origin, "event": "branch", "at": at, "foreign": None}


def subagent(origin: RequestOrigin) -> messages.SubagentStarted:
    return {**origin, "event": "subagent"}


def stop(origin: RequestOrigin, *, was_aborted: bool = False) -> messages.AgentStops:
    """The agent stops, and the host knows of no background work and of no progress."""
    return {
        **origin,
        "event": "stop",
        "awaits": (),
        "hands_off": False,
        "was_aborted": was_aborted,
        "has_progress": None,
    }


def for_person(answer: messages.StopPolicy) -> str | None:
    """What a person is told when the agent stops; None if there is nothing to tell."""
    return answer["farewell"] or answer["let_go"]


def system_message(text: str | None) -> dict[str, Any] | None:
    """A message that only the person sees, for the agents that have this name of the field."""
    return {"systemMessage": text} if text else None


def hook_context(event: Any, text: str | None, notice: str | None, **more: Any) -> dict[str, Any] | None:
    """A text for the agent and a message for the person, for the agents that have these names of fields."""
    output = {**({"additionalContext": text} if text else {}), **more}
    answer = {"hookSpecificOutput": {"hookEventName": event, **output}} if output else {}
    return {**answer, **(system_message(notice) or {})} or None


def with_caller(arguments: Any, conversation: str, call: Any, cwd: Any, subagent: Any = None) -> dict[str, Any]:
    """The arguments of `workflow_step`, and who calls it. The model cannot set this: it is written over its values."""
    who = {"session_id": conversation, "agent_id": subagent or "", "call_id": call or "", "cwd": cwd or ""}
    return {**as_object(arguments), **who}


def step_caller(arguments: Mapping[str, Any], _meta: Mapping[str, Any]) -> StepCaller:
    """Who calls `workflow_step`, from arguments that `with_caller` made."""
    return caller(arguments, "session_id", "agent_id", "call_id")


def caller(data: Mapping[str, Any], conversation: str, subagent: str, call: str) -> StepCaller:
    """Who calls `workflow_step`. The last arguments are the names of the members that say it."""
    return {
        "conversation": str(data.get(conversation) or ""),
        "is_subagent": bool(data.get(subagent)),
        "call": str(data.get(call) or ""),
        "cwd": str(data.get("cwd") or ""),
    }


SUBAGENT_NAMES = ("agent", "task", "subagent", "delegate_to_subagents")
"""What a tool that starts a subagent is called in workflows. All but the first are names for pi-workflows."""
PATCH_MARKS = ("*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:")
"""The lines of a patch that name a file."""


def absolute(path: str, cwd: str) -> str:
    return path if path.startswith("/") else f"{cwd}/{path}"


def paths(path: Any, cwd: str) -> tuple[str, ...]:
    """The path that an argument names; empty if it names none."""
    return (absolute(path, cwd),) if isinstance(path, str) and path else ()


def patched_files(patch: Any) -> list[str]:
    """The files that a patch adds, changes, deletes, or moves a file to."""
    lines = [line.strip() for line in patch.splitlines()] if isinstance(patch, str) else []
    files = [line[len(mark) :].strip() for line in lines for mark in PATCH_MARKS if line.startswith(mark)]
    return [name for name in files if name]


def other_names(tool: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names that are not the tool's own."""
    return tuple(name for name in names if name != tool)


def mcp_aliases(tool: str) -> tuple[str, ...]:
    """The other name of `mcp__SERVER__TOOL`; empty if the tool is not called like that."""
    if not tool.startswith("mcp__"):
        return ()
    server, _, name = tool[5:].partition("__")
    return (f"mcp:{server}/{name}",)


def joined_aliases(tool: str, separator: str) -> tuple[str, ...]:
    """All possible other names of a tool whose name is that of its server, a separator, and its own name.

    Both names may contain the separator.
    """
    parts = tool.split(separator)
    return tuple(f"mcp:{separator.join(parts[:at])}/{separator.join(parts[at:])}" for at in range(1, len(parts)))


CHILD = "child.js"
"""Keeps one process, `handrail serve`, and asks it."""


def plugin_file(*path: str) -> str:
    """The text of a file below the folder of all agents."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), *path), encoding="utf-8") as file:
        return file.read()


def plugin_files(*path: str) -> dict[str, str]:
    """Every file of a folder below the folder of all agents: name → text."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), *path)
    return {name: plugin_file(*path, name) for name in sorted(os.listdir(folder))}


def branch_point(data: Any) -> messages.BranchPoint | None:
    """The place that a plugin found in the history; None if there is none."""
    if not isinstance(data, dict):
        return None
    return {"session": str(data["session"]), "project": str(data["project"]), "number": int(data["number"])}
