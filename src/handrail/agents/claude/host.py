"""Claude Code as a host: its tools, its hook messages as Handrail's requests, our answers in its format.

Without an answer, Claude Code decides as it would without Handrail. Standard library only.
"""

from __future__ import annotations

import os

from handrail import STEP_TOOL
from handrail.agents import requests
from handrail.agents.requests import SUBAGENT_NAMES, mcp_aliases, paths
from handrail.agents.requests import conversation as conversation
from handrail.agents.requests import step_caller as step_caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from handrail.extensions.contracts import messages
    from handrail.extensions.contracts.agent import Commands, Enforcement

COMMANDS: Commands = {"start": "/workflow", "cancel": "/cancel-workflow"}
CONVERSATION: str | None = "CLAUDE_CODE_SESSION_ID"
ENFORCES: Mapping[str, Enforcement] = requests.ENFORCED
LINKS = True
MAX_CONTEXT = 9_900
_OURS = "handrail"
_COMMANDS: dict[str, Literal["start", "cancel"]] = {"workflow": "start", "cancel-workflow": "cancel"}

TOOLS = (
    "Agent", "AskUserQuestion", "Bash", "CronCreate", "CronDelete", "CronList", "Edit", "EnterPlanMode",
    "EnterWorktree", "ExitPlanMode", "ExitWorktree", "ListAgents", "Monitor", "NotebookEdit", "Read", "ReportFindings",
    "ScheduleWakeup", "SendMessage", "Skill", "StructuredOutput", "Task", "TaskCreate", "TaskStop", "ToolSearch",
    "WebFetch", "WebSearch", "Workflow", "Write",
)  # fmt: skip
FORMER_TOOLS = (
    "Glob", "Grep", "LS", "MultiEdit", "NotebookRead", "PowerShell", "BashOutput", "KillShell", "TodoWrite",
)  # fmt: skip
"""Tools of other versions and systems. A list may name them, but they are not there."""
OWN_STEP = f"mcp__plugin_handrail_handrail__{STEP_TOOL}"
PROJECT_STEP = f"mcp__handrail__{STEP_TOOL}"
"""The names of our tool: in our plugin, and in a project's list of servers, where another server may have this name."""
HARMLESS = ("AskUserQuestion", "ExitPlanMode", "StructuredOutput", "ToolSearch")
"""Tools that change nothing: they talk to the person, end plan mode, return the result, or look up another tool."""
LAST = "StructuredOutput"
"""Claude Code ends a conversation with this call, whatever the hooks of `Stop` answer."""

_NAMES: dict[str, tuple[str, ...]] = {
    "Agent": SUBAGENT_NAMES,
    "Bash": ("bash",),
    "Edit": ("edit",),
    "Glob": ("search", "find"),
    "Grep": ("search", "grep"),
    "LS": ("search", "ls"),
    "Monitor": ("bash",),
    "MultiEdit": ("edit",),
    "NotebookEdit": ("edit",),
    "NotebookRead": ("read",),
    "PowerShell": ("bash",),
    "Read": ("read",),
    "Skill": ("skill", "bash"),  # a skill may contain shell commands that run when it is loaded
    "Task": SUBAGENT_NAMES,
    "WebFetch": ("fetch",),
    "WebSearch": ("fetch",),
    "Workflow": ("agent",),
    "Write": ("write",),
    OWN_STEP: (STEP_TOOL,),
}
_WRITES = {"Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path", "Write": "file_path"}
_READS = {"Read": "file_path", "NotebookRead": "notebook_path", "Glob": "path", "Grep": "path", "LS": "path"}
_RUNS = ("Bash", "Monitor", "PowerShell")
PLAN_MODE = (
    "You are in plan mode, in which workflow_step cannot be called. When the plan is ready, call ExitPlanMode. "
    "After the person has accepted the plan, continue with the workflow.\n\n"
)
TAIL = 262_144
"""So many bytes at the end of a transcript are read."""


def arguments(tool: str, tool_input: Mapping[str, Any], cwd: str) -> messages.CallArguments:
    return {
        "runs": str(tool_input["command"]) if tool in _RUNS and "command" in tool_input else None,
        "reads": paths(tool_input.get(_READS.get(tool, "")), cwd),
        "writes": paths(tool_input.get(_WRITES.get(tool, "")), cwd),
    }


def aliases(tool: str) -> tuple[str, ...]:
    return _NAMES[tool] if tool in _NAMES else foreign_aliases(tool)


def foreign_aliases(tool: str) -> tuple[str, ...]:
    """The other names of a tool of an MCP server that is not ours.

    The server of a plugin is called `plugin_PLUGIN_SERVER`, and both parts may contain underscores.
    """
    server, _, name = tool[5:].partition("__")
    names = mcp_aliases(tool)
    if not names or not server.startswith("plugin_"):
        return names
    parts = server[7:].split("_")
    return (*names, *(f"mcp:{'_'.join(parts[at:])}/{name}" for at in range(1, len(parts))))


def request(data: Mapping[str, Any]) -> messages.HostRequest | None:
    event = data["hook_event_name"]
    if event == "PreToolUse":
        return _before_tool(data)
    origin = requests.hook_origin(data)
    if event == "UserPromptSubmit":
        return _prompt(data, origin)
    if event == "UserPromptExpansion":
        return _command(data, origin)
    if event == "SessionStart":
        return requests.conversation_opened(origin, data["source"])
    if event == "SubagentStart":
        return requests.subagent(origin)
    if event == "Stop":
        hands_off = has_queued_cancel(transcript_tail(data.get("transcript_path")))
        return {**requests.stop(origin), "awaits": _background_work(data), "hands_off": hands_off}
    return None


def _before_tool(data: Mapping[str, Any]) -> messages.HostRequest:
    origin, tool = requests.hook_origin(data), str(data["tool_name"])
    tool_input = requests.as_object(data.get("tool_input"))
    names, is_subagent = aliases(tool), bool(data.get("agent_id"))
    if STEP_TOOL in names or tool == PROJECT_STEP:
        names = foreign_aliases(tool)
        if _is_own_server(tool, data.get("mcp_server")):
            step = requests.step(origin, tool, tool_input, is_subagent=is_subagent)
            step["call"] = str(data.get("tool_use_id") or "")
            if tool == PROJECT_STEP:
                step["aliases"], step["installed"] = names, (".mcp.json", "mcpServers", _OURS)
            return step
    call, is_harmless = arguments(tool, tool_input, origin["cwd"]), tool in HARMLESS
    about = requests.tool(origin, tool, names, call, is_harmless=is_harmless, is_subagent=is_subagent)
    return {**about, "is_last": tool == LAST}


def _is_own_server(tool: str, server: Any) -> bool:
    """False if the tool's server is not where ours is. Claude Code tells where it found a server since 2.1.325.

    Another server can have the name of ours, so the tool's name alone proves nothing.
    """
    if not isinstance(server, dict):
        return True
    return bool(server.get("source") == ("project" if tool == PROJECT_STEP else "plugin"))


def _prompt(data: Mapping[str, Any], origin: messages.RequestOrigin) -> messages.PromptGiven:
    text = str(data.get("prompt", ""))
    first, rest = (*text.split(None, 1), "", "")[:2]
    prompt = requests.prompt(origin, data.get("prompt_id"))
    prompt["starts"] = rest if first.startswith("/") and _typed_command(first) == "start" else None
    if text.startswith("<task-notification>"):
        prompt["by_person"] = False
        prompt["was_interrupted"] = was_interrupted(transcript_tail(data.get("transcript_path")))
    return prompt


def _command(data: Mapping[str, Any], origin: messages.RequestOrigin) -> messages.CommandTyped | None:
    name = _typed_command(str(data.get("command_name", "")))
    if name is None:
        return None
    return requests.command(origin, name, str(data.get("command_args", "")), data.get("prompt_id"))


def _typed_command(word: str) -> Literal["start", "cancel"] | None:
    """The command of `/workflow` or `handrail:workflow`; None for a word that is no command of ours."""
    prefix, _, name = word.removeprefix("/").rpartition(":")
    return _COMMANDS.get(name) if prefix in ("", _OURS) else None


def _background_work(data: Mapping[str, Any]) -> tuple[str, ...]:
    tasks = data.get("background_tasks")
    entries = tasks if isinstance(tasks, list) else [tasks] if tasks else []
    return tuple(str(task.get("id") if isinstance(task, dict) else task) for task in entries)


def reply(
    data: Mapping[str, Any], _request: messages.HostRequest, answer: messages.HostAnswer
) -> dict[str, Any] | None:
    if answer["kind"] == "verdict":
        return _decision(data, answer)
    if answer["kind"] == "held":
        return {"decision": "block", "reason": answer["text"]}
    if answer["kind"] == "notice":
        return requests.system_message(answer["text"])
    event = data["hook_event_name"]
    if answer["kind"] == "stop":
        if answer["send_on"]:
            return requests.hook_context(event, _for_mode(data, answer["send_on"]), None)
        return requests.system_message(requests.for_person(answer))
    if answer["kind"] != "context":
        return None
    title = {"sessionTitle": answer["title"]} if answer["title"] and event == "UserPromptSubmit" else {}
    return requests.hook_context(event, answer["text"] and _for_mode(data, answer["text"]), answer["notice"], **title)


def _decision(data: Mapping[str, Any], answer: messages.Verdict) -> dict[str, Any]:
    """The verdict as hook output. It is `{}` for an allowed call: the stub treats an empty output as a failure."""
    if not answer["allow"]:
        decision: dict[str, Any] = {"permissionDecision": "deny", "permissionDecisionReason": answer["reason"]}
    elif answer["rule"] == "workflow-step":
        tool_input, call, cwd = data.get("tool_input"), data.get("tool_use_id"), data.get("cwd")
        updated = requests.with_caller(tool_input, conversation(data), call, cwd, data.get("agent_id"))
        decision = {"permissionDecision": "allow", "updatedInput": updated}
    else:
        return {}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}


def _for_mode(data: Mapping[str, Any], text: str) -> str:
    """The text for the agent. In plan mode, Claude Code itself refuses `workflow_step`, and so it is said there."""
    return cut_text(f"{PLAN_MODE}{text}" if data.get("permission_mode") == "plan" else text)


def cut_text(text: str) -> str:
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

    The front matter of agents, skills and commands can add hooks, too. With `CLAUDE_CONFIG_DIR`, Claude Code keeps
    `.claude.json` there. It reads an old `.config.json` in its place.
    """
    base = env.get("CLAUDE_CONFIG_DIR") or home + "/.claude"
    names = ("settings.json", "settings.local.json", "plugins", "agents", "skills", "commands", _OURS)
    below = [f"{folder}/{name}" for folder in (base, project + "/.claude") for name in names]
    lists = (home + "/.claude.json", base + "/.claude.json", base + "/.config.json")
    return (*below, project + "/.mcp.json", *lists)


def was_told(history: bytes, call: str) -> bool:
    return f'"tool_use_id":"{call}"'.encode() in history


def in_one_message(history: bytes, earlier: str, later: str) -> bool | None:
    first, second = _message_of(history, earlier), _message_of(history, later)
    return None if first is not None and second is None else first is not None and first == second


def _message_of(history: bytes, call: str) -> str | None:
    """The id of the message that has a call; None if the call is not written yet."""
    from handrail.base import jsonlite

    at = history.find(f'"id":"{call}"'.encode())
    if at < 0:
        return None
    line = history[history.rfind(b"\n", 0, at) + 1 : history.find(b"\n", at)]
    try:
        return str(jsonlite.loads(line.decode())["message"]["id"])
    except (ValueError, KeyError, TypeError):
        return None


def has_messages(history: bytes) -> bool:
    """Claude Code first writes the title and the mode of a fork, and its messages up to half a second later."""
    return b'"type":"user"' in history


def transcript_tail(path: str | None) -> list[dict[str, Any]]:
    """The last complete entries of a transcript, oldest first; empty if it cannot be read."""
    from handrail.base import jsonlite

    try:
        with open(path or "", "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - TAIL))
            lines = file.read().split(b"\n")
    except OSError:
        return []
    entries = []
    for line in lines:
        try:
            entry = jsonlite.loads(line.decode())
        except ValueError:
            continue
        if isinstance(entry, dict):
            entries.append(entry)
    return entries


def has_queued_cancel(entries: list[dict[str, Any]]) -> bool:
    """True if a person typed the cancel command while the agent was working, and it is still queued."""
    waiting: list[str] = []
    for entry in entries:
        if entry.get("type") != "queue-operation":
            continue
        content = str(entry.get("content") or "")
        if entry.get("operation") == "enqueue":
            waiting.append(content)
        elif waiting:
            waiting.pop(waiting.index(content) if content in waiting else 0)
    return any(_typed_command((*text.split(None, 1), "")[0]) == "cancel" for text in waiting)


def was_interrupted(entries: list[dict[str, Any]]) -> bool:
    """True if a person interrupted the agent and has not written a prompt since."""
    for entry in reversed(entries):
        if entry.get("type") != "user" or entry.get("isMeta") or entry.get("isSidechain"):
            continue
        text = _text(entry)
        if text.startswith("[Request interrupted by user"):
            return True
        if text and (not text.startswith("<") or text.startswith("<command-")):
            return False
    return False


def _text(entry: dict[str, Any]) -> str:
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else message
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "".join(str(b.get("text", "")) for b in blocks if isinstance(b, dict) and b.get("type") == "text")
