"""Gemini CLI as a host: its tools, its hook messages as Handrail's requests, our answers in its format.

Without an answer, Gemini CLI decides as it would without Handrail. Standard library only.
"""

from __future__ import annotations

import os
import sys

from handrail import STEP_TOOL
from handrail.agents import requests
from handrail.agents.requests import SUBAGENT_NAMES, joined_aliases, paths
from handrail.agents.requests import conversation as conversation
from handrail.agents.requests import step_caller as step_caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.extensions.contracts import messages
    from handrail.extensions.contracts.agent import Commands, Enforcement

COMMANDS: Commands = {"start": "/workflow", "cancel": "/cancel-workflow"}
CONVERSATION: str | None = "GEMINI_SESSION_ID"
ENFORCES: Mapping[str, Enforcement] = {**requests.ENFORCED, "tools": "partial", "stop": "partial"}
"""`tools`: with `--acp`, Gemini CLI calls no hook at all. `stop`: its loop detector ends a turn without one."""
LINKS = True
_OWN_COMMAND = [sys.executable, "-I", "-m", "handrail", "mcp", "--agent", "gemini"]
TOOLS = (
    "activate_skill", "ask_user", "complete_task", "enter_plan_mode", "exit_plan_mode", "get_internal_docs", "glob",
    "google_web_search", "grep_search", "invoke_agent", "list_background_processes", "list_directory",
    "list_mcp_resources", "read_background_output", "read_file", "read_many_files", "read_mcp_resource", "replace",
    "run_shell_command", "tracker_add_dependency", "tracker_create_task", "tracker_get_task", "tracker_list_tasks",
    "tracker_update_task", "tracker_visualize", "update_topic", "web_fetch", "write_file", "write_todos",
)  # fmt: skip
FORMER_TOOLS = ("save_memory", "search_file_content")
"""Tools of other versions. A list may name them, but they are not there."""
SERVER = "handrail"
OWN_STEP = f"mcp_{SERVER}_{STEP_TOOL}"
"""The name of our tool. Another server can have the name of ours, so this name alone proves nothing."""
AGENT_TOOL = "invoke_agent"
HARMLESS = ("ask_user", "complete_task", "enter_plan_mode", "exit_plan_mode", "update_topic")
"""Tools that change nothing: they talk to the person, return a subagent's result, or set a title."""
_NAMES: dict[str, tuple[str, ...]] = {
    "activate_skill": ("skill",),
    "glob": ("search", "find"),
    "google_web_search": ("fetch",),
    "grep_search": ("search", "grep"),
    AGENT_TOOL: SUBAGENT_NAMES,
    "list_directory": ("search", "ls"),
    "read_file": ("read",),
    "read_many_files": ("read",),
    "replace": ("edit",),
    "run_shell_command": ("bash",),
    "save_memory": ("write",),
    "search_file_content": ("search", "grep"),
    "web_fetch": ("fetch",),
    "write_file": ("write",),
    OWN_STEP: (STEP_TOOL,),
}
_WRITES = {"replace": "file_path", "write_file": "file_path"}
_READS = {"read_file": "file_path", "glob": "dir_path", "grep_search": "dir_path", "list_directory": "dir_path"}
STARTS = "Start a Handrail workflow: "
STARTED = "\n\nHandrail started this workflow. "
CANCELS = "Cancel the Handrail workflow of this conversation."
"""What `/workflow` and `/cancel-workflow` become before a hook sees them."""
SENDS_ON = "Handrail: "
"""The start of a reminder. Gemini CLI reports a reminder like a prompt of a person."""
_HEAD = 200
_CANCELLED = b'"type":"info","content":"Request cancelled.'


def arguments(tool: str, tool_input: Mapping[str, Any], cwd: str) -> messages.CallArguments:
    return {
        "runs": _command(tool_input) if tool == "run_shell_command" and "command" in tool_input else None,
        "reads": paths(tool_input.get(_READS.get(tool, "")), cwd),
        "writes": paths(tool_input.get(_WRITES.get(tool, "")), cwd),
    }


def _command(tool_input: Mapping[str, Any]) -> str:
    """The shell command, with the folder in which it runs."""
    command, folder = str(tool_input["command"]), tool_input.get("dir_path")
    if not isinstance(folder, str) or not folder:
        return command
    quoted = "'" + folder.replace("'", "'\"'\"'") + "'"
    return f"cd {quoted} && {command}"


def aliases(tool: str) -> tuple[str, ...]:
    return _NAMES[tool] if tool in _NAMES else foreign_aliases(tool)


def foreign_aliases(tool: str, server: str = "") -> tuple[str, ...]:
    """The other names of a tool of an MCP server that is not ours.

    If the server is not known, it may be any part of the name: servers and tools may contain underscores.
    """
    if not tool.startswith("mcp_"):
        return ()
    rest = tool[4:]
    if server and rest.startswith(f"{server}_"):
        return (f"mcp:{server}/{rest[len(server) + 1 :]}",)
    return joined_aliases(rest, "_")


def request(data: Mapping[str, Any]) -> messages.HostRequest | None:
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
        return requests.stop(origin, was_aborted=was_interrupted(origin["transcript"]))
    return None


def _begin(data: Mapping[str, Any], origin: messages.RequestOrigin) -> messages.HostRequest:
    """A conversation was resumed, compressed, or begun as a copy of another. It is told at its next prompt.

    What a hook adds when a conversation begins hides the first prompt when the conversation is resumed later.
    """
    if data["hook_event_name"] == "PreCompress":
        return {**origin, "event": "begin", "source": "compacting", "waits": True}
    copy = copy_of(origin["transcript"], origin["conversation"])
    origin["transcript"] = copy or origin["transcript"]
    return {**origin, "event": "begin", "source": "fork" if copy else "resume", "waits": True}


def _before_tool(data: Mapping[str, Any]) -> messages.HostRequest:
    origin, tool, server = requests.hook_origin(data), str(data["tool_name"]), data.get("mcp_context")
    tool_input = requests.as_object(data.get("tool_input"))
    if tool == OWN_STEP and _is_own_server(server):
        # its hook before each call of the model ends what this word names
        step = requests.step(origin, tool, tool_input, is_subagent=False)
        return {**step, "message": "current", "call": str(data.get("timestamp") or "")}
    name = str(server.get("server_name") or "") if isinstance(server, dict) else ""
    names, call = foreign_aliases(tool, name) or aliases(tool), arguments(tool, tool_input, origin["cwd"])
    about = requests.tool(origin, tool, names, call, is_harmless=tool in HARMLESS)
    return {**about, "runs_subagent": tool == AGENT_TOOL}


def _is_own_server(server: Any) -> bool:
    """True if the tool's server was started by the command that we install. Any server can be called `handrail`."""
    if not isinstance(server, dict):
        return False
    args = server.get("args")
    command = [server.get("command"), *(args if isinstance(args, list) else ())]
    return server.get("server_name") == SERVER and command == _OWN_COMMAND


def _prompt(text: str, origin: messages.RequestOrigin) -> messages.HostRequest | None:
    """A prompt, or a command that a person typed. None for a reminder of ours, which comes in the same turn."""
    if text.startswith(SENDS_ON):
        return None
    if text.strip() == CANCELS:
        return requests.command(origin, "cancel")
    if text.startswith(STARTS) and STARTED in text:
        return requests.command(origin, "start", text[len(STARTS) : text.rindex(STARTED)])
    return requests.prompt(origin)


def _messages(data: Mapping[str, Any]) -> list[Any]:
    model_request = data.get("llm_request")
    messages = model_request.get("messages") if isinstance(model_request, dict) else None
    return messages if isinstance(messages, list) else []


def reply(data: Mapping[str, Any], request: messages.HostRequest, answer: messages.HostAnswer) -> dict[str, Any] | None:
    if answer["kind"] == "verdict":
        return _decision(data, answer)
    if answer["kind"] == "held":
        return {"decision": "deny", "reason": answer["text"], "systemMessage": answer["text"]}
    if answer["kind"] == "notice":
        return requests.system_message(answer["text"])
    if answer["kind"] == "stop":
        if answer["send_on"]:
            return {"decision": "deny", "reason": SENDS_ON + answer["send_on"]}
        return requests.system_message(requests.for_person(answer))
    if answer["kind"] != "context":
        return None
    if request["event"] == "model":
        return _before_model(data, answer)
    notices = [text for text in (answer["status_line"], answer["notice"]) if text]
    return requests.hook_context("BeforeAgent", answer["text"], "\n".join(notices))


def _before_model(data: Mapping[str, Any], answer: messages.Context) -> dict[str, Any] | None:
    """One more message in this call of the model. Gemini CLI replaces all messages by those that a hook returns."""
    if not answer["text"]:
        return None
    messages = [*_messages(data), {"role": "user", "content": answer["text"]}]
    return {"hookSpecificOutput": {"hookEventName": "BeforeModel", "llm_request": {"messages": messages}}}


def _decision(data: Mapping[str, Any], answer: messages.Verdict) -> dict[str, Any]:
    """The verdict as hook output. It is `{}` for an allowed call: the stub treats an empty output as a failure."""
    if not answer["allow"]:
        return {"decision": "deny", "reason": answer["reason"]}
    if answer["rule"] != "workflow-step":
        return {}
    caller = conversation(data), data.get("timestamp"), data.get("cwd")
    tool_input = requests.with_caller(data.get("tool_input"), *caller)
    return {"hookSpecificOutput": {"hookEventName": "BeforeTool", "tool_input": tool_input}}


def protected(env: Mapping[str, str], home: str, project: str) -> tuple[str, ...]:
    """Settings that can add hooks or switch them off, our stubs and commands, policies, lists of trusted folders."""
    homes = [folder for folder in (env.get("GEMINI_CLI_HOME"), home) if folder]
    names = ("settings.json", ".env", SERVER, "commands", "policies", "extensions")
    below = [f"{folder}/.gemini/{name}" for folder in (*homes, project) for name in names]
    trust_files = [f"{folder}/.gemini/trusted{name}" for folder in homes for name in ("Folders.json", "_hooks.json")]
    return (*below, *trust_files, project + "/.env")


def was_told(history: bytes, call: str) -> bool:
    """Gemini CLI records the arguments of a call, as the gate changed them, together with its result."""
    return f'"call_id":"{call}"'.encode() in history


def was_interrupted(path: str | None) -> bool:
    """True if the turn has no answer of the model at its end: a person interrupted it, or the service failed."""
    for line in reversed(_lines(path)):
        head = line[:_HEAD]
        if _CANCELLED in head or b'"type":"user"' in head:
            return True
        if b'"type":"gemini"' in head:
            return False
    return False


def _lines(path: str | None) -> list[bytes]:
    """The lines that are records of their own; empty if the file cannot be read."""
    try:
        with open(path or "", "rb") as file:
            return [line for line in file.read().split(b"\n") if not line.startswith(b'{"$set"')]
    except OSError:
        return []


def copy_of(path: str | None, conversation: str) -> str | None:
    """The record of a conversation that began as a copy (`--session-file`); None if it did not.

    The copy is beside the record that Gemini CLI names at first. Its name has the time in milliseconds.
    """
    folder, end = os.path.dirname(path or ""), f"-{conversation[:8]}.jsonl"
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    for name in names:
        if name.startswith("session-") and name.endswith(end) and name[8 : -len(end)].isdigit():
            return os.path.join(folder, name)
    return None
