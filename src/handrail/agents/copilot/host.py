"""Copilot CLI as a host: its tools, its hook messages as Handrail's requests, our answers in its format.

Without an answer, Copilot CLI decides as it would without Handrail. A message does not name its event, so its fields
tell. Where a conversation is, and what was typed, is in Copilot CLI's own record of it. Standard library only.
"""

from __future__ import annotations

import os
import time

from handrail import FOR_ONE_CALL, STEP_TOOL
from handrail.agents import requests
from handrail.agents.requests import SUBAGENT_NAMES, absolute, joined_aliases, other_names, patched_files
from handrail.agents.requests import step_caller as step_caller
from handrail.base import jsonlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from handrail.extensions.contracts import messages
    from handrail.extensions.contracts.agent import Commands, Enforcement

COMMANDS: Commands = {"start": "/workflow", "cancel": "/cancel-workflow"}
CONVERSATION: str | None = None
ENFORCES: Mapping[str, Enforcement] = {**requests.ENFORCED, "stop": "partial"}
LINKS = True
SHOWS_END = False
"""No hook can show a text to the person alone, so the agent is asked to say how a workflow ended."""
STOP_CAP = 8
"""How often Copilot CLI lets a hook send the agent on after one prompt."""
SERVERS = (".mcp.json", ".github/mcp.json")
"""Lists of servers in a project. They win over the list of the user."""
TOOLS = (
    "apply_patch", "ask_user", "bash", "create", "edit", "exit_plan_mode", "fetch_copilot_cli_documentation", "glob",
    "grep", "list_agents", "list_bash", "read_agent", "read_bash", "session_store_sql", "skill", "sql", "stop_bash",
    "store_memory", "task", "task_complete", "tool_search", "view", "web_fetch", "web_search", "write_agent",
)  # fmt: skip
FORMER_TOOLS = (
    "list_powershell", "powershell", "read_powershell", "stop_powershell", "str_replace_editor", "write_bash",
    "write_powershell",
)  # fmt: skip
"""Tools of other versions and systems. A list may name them, but they are not there."""
SERVER = "handrail-copilot"
"""The name of our MCP server. Other agents' lists of servers are loaded, too, and theirs is called `handrail`."""
OWN_STEP = f"{SERVER}-{STEP_TOOL}"
ASKED_STEP = f"{SERVER}/{STEP_TOOL}"
"""The names of our tool: when it is called, and when the person is asked for permission."""
HARMLESS = (
    "ask_user", "exit_plan_mode", "fetch_copilot_cli_documentation", "list_agents", "list_bash", "list_powershell",
    "read_agent", "read_bash", "read_powershell", "sql", "stop_bash", "stop_powershell", "task_complete", "tool_search",
)  # fmt: skip
"""Tools that change nothing outside of the conversation. `sql` is a list of tasks that belongs to the conversation."""
_NAMES: dict[str, tuple[str, ...]] = {
    "apply_patch": ("edit", "write"),
    "bash": ("bash",),
    "create": ("write",),
    "edit": ("edit",),
    "glob": ("search", "find"),
    "grep": ("search", "grep"),
    "powershell": ("bash",),
    "skill": ("skill", "bash"),  # a skill may tell the agent to run its scripts
    "str_replace_editor": ("edit", "write"),
    "task": SUBAGENT_NAMES,
    "view": ("read",),
    "web_fetch": ("fetch",),
    "web_search": ("fetch",),
    "write_agent": SUBAGENT_NAMES,
    "write_bash": ("bash",),
    "write_powershell": ("bash",),
    OWN_STEP: (STEP_TOOL,),
}
_RUNS = {"bash": "command", "powershell": "command", "write_bash": "input", "write_powershell": "input"}
_WRITES = ("apply_patch", "create", "edit", "str_replace_editor")
_READS = ("view", "grep", "glob")
HANDRAIL = "[Handrail] "
"""How Handrail's own prompts begin: Copilot CLI makes a prompt of the answer that sends an agent on."""
BEGIN, PLACE, END = "<handrail-arguments>", "$ARGUMENTS", "</handrail-arguments>"
"""What is around the arguments of a command in the text of its skill, and what stands for them."""
_COMMANDS: dict[str, Literal["start", "cancel"]] = {"workflow": "start", "cancel-workflow": "cancel"}
SECONDS = 3.0
"""How long to wait until Copilot CLI has recorded a subagent. It takes about a tenth of a second."""
_PAUSE = 0.02
_CALL = b'"toolCallId":"'
_COMPACTED = b'{"type":"session.compaction_complete"'
_HOOK = b'{"type":"hook.'
_COMPLETE = b'"type":"tool.execution_complete","data":{"toolCallId":"'


def arguments(tool: str, tool_input: Mapping[str, Any], cwd: str) -> messages.CallArguments:
    """A patch is in an argument of any name."""
    runs, several = tool_input.get(_RUNS.get(tool, "")), tool_input.get("paths")
    values = [tool_input.get("path"), *(several if isinstance(several, list) else [several])]
    if tool == "apply_patch":
        values = [path for text in tool_input.values() for path in patched_files(text)]
    paths = tuple(absolute(path, cwd) for path in values if isinstance(path, str) and path)
    return {
        "runs": str(runs) if runs is not None else None,
        "reads": paths if tool in _READS else (),
        "writes": paths if tool in _WRITES else (),
    }


def aliases(tool: str) -> tuple[str, ...]:
    return other_names(tool, _NAMES[tool]) if tool in _NAMES else foreign_aliases(tool)


def foreign_aliases(tool: str) -> tuple[str, ...]:
    """The other names of `SERVER-TOOL`, a tool of a foreign MCP server. Both parts may contain hyphens."""
    return joined_aliases(tool, "-") if ":" not in tool else ()


def conversation(data: Mapping[str, Any]) -> str:
    """The main conversation of a message. Subagents have ids of their own."""
    if "session_id" in data:
        return str(data["session_id"])  # the status line
    if data.get("transcriptPath"):
        return os.path.basename(os.path.dirname(str(data["transcriptPath"])))
    if data.get("agentId") and data.get("hookName") is None:
        return main_conversation(str(data["parentAgentId"]))
    return str(data["sessionId"])


def request(data: Mapping[str, Any]) -> messages.HostRequest | None:
    """A fork is reported as resumed. A conversation with a workflow of its own is not taken for a fork.

    What a hook adds there is lost when the conversation is resumed again, so the agent is told at its next prompt.
    """
    if "toolName" in data:
        return _tool(data)
    if "prompt" in data:
        return _prompt(data)
    if "agentName" in data:  # a subagent that ends has a response
        return None if "response" in data else requests.subagent(_origin(data))
    if "stopReason" in data:
        return _stop(data)
    if "trigger" in data or data.get("source") != "resume":  # no history: it is compacted, or it begins, perhaps again
        return {**_origin(data), "event": "begin", "source": "compacting", "waits": True}
    return {**_origin(data), "event": "begin", "source": "fork", "waits": True}


def _origin(data: Mapping[str, Any]) -> messages.RequestOrigin:
    """Where a message comes from. The stubs of one call know their conversation, so it is not looked up."""
    id_ = str(data["sessionId"]) if os.environ.get(FOR_ONE_CALL) else conversation(data)
    return requests.origin(id_, data.get("cwd"), record_path(id_))


def _tool(data: Mapping[str, Any]) -> messages.HostRequest | None:
    tool, tool_input = str(data["toolName"]), _tool_input(data)
    if tool == ASKED_STEP and "toolInput" in data:
        step = _step(data, tool_input)
        return step if "installed" not in step else None
    if "toolInput" in data or "toolResult" in data:
        return None
    message = str(data.get("timestamp") or "")  # of the hook, which asks about all calls of a message
    if tool == OWN_STEP:
        return {**_step(data, tool_input), "message": message}
    origin, is_harmless, is_subagent = _origin(data), tool in HARMLESS, bool(data.get("agentId"))
    call = arguments(tool, tool_input, origin["cwd"])
    about = requests.tool(origin, tool, aliases(tool), call, is_harmless=is_harmless, is_subagent=is_subagent)
    return {**about, "takes_context": True, "message": message}


def _tool_input(data: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call. Some tools get a text instead of an object."""
    value = data.get("toolArgs", data.get("toolInput"))
    if isinstance(value, str):
        try:
            arguments = jsonlite.loads(value)
        except ValueError:
            arguments = {"input": value}
        return arguments if isinstance(arguments, dict) else {"input": value}
    return value if isinstance(value, dict) else {}


def _step(data: Mapping[str, Any], tool_input: Mapping[str, Any]) -> messages.StepCall:
    step = requests.step(_origin(data), OWN_STEP, tool_input, is_subagent=bool(data.get("agentId")))
    if (path := _project_server_list(step["cwd"])) is not None:
        step["aliases"], step["installed"] = foreign_aliases(OWN_STEP), (path, "mcpServers", SERVER)
    return step


def _project_server_list(cwd: str) -> str | None:
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


def _prompt(data: Mapping[str, Any]) -> messages.HostRequest | None:
    text = str(data["prompt"])
    if data.get("agentId") or "transformedPrompt" in data or text.startswith(HANDRAIL):
        return None
    command = typed_command(text)
    return requests.prompt(_origin(data)) if command is None else requests.command(_origin(data), *command)


def _stop(data: Mapping[str, Any]) -> messages.HostRequest | None:
    if data.get("agentId"):
        return None
    command = typed_command(last_typed(data.get("transcriptPath")))
    return {
        **requests.stop(_origin(data)),
        "hands_off": command is not None and command[0] == "cancel",
        "cap": STOP_CAP,
        "was_sent_on": bool(data.get("stop_hook_active")),
    }


def reply(data: Mapping[str, Any], request: messages.HostRequest, answer: messages.HostAnswer) -> dict[str, Any] | None:
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


def _decision(data: Mapping[str, Any], request: messages.HostRequest, answer: messages.Verdict) -> dict[str, Any]:
    """The verdict as hook output. It is `{}` for an allowed call: the stub treats an empty output as a failure."""
    is_step = answer["rule"] == "workflow-step"
    if "toolInput" in data:
        return {"behavior": "allow"} if answer["allow"] and is_step else {}
    if not answer["allow"]:
        return {"permissionDecision": "deny", "permissionDecisionReason": answer["reason"]}
    if not is_step:
        return {"additionalContext": answer["context"]} if answer.get("context") else {}
    call, subagent = f"handrail-{data.get('timestamp')}", str(data.get("agentId") or "")
    updated = requests.with_caller(_tool_input(data), request["conversation"], call, request["cwd"], subagent)
    return {"modifiedArgs": updated}


def protected(env: Mapping[str, str], home: str, project: str) -> tuple[str, ...]:
    """Settings that can add hooks or switch them off, our stubs and skills, and the lists of MCP servers."""
    base = copilot_home(env, home)
    names = ("settings.json", "config.json", "mcp-config.json", "hooks", "installed-plugins", "handrail")
    skills = ("skills/workflow", "skills/cancel-workflow")
    local = ("hooks", "copilot", "mcp.json", *skills)
    claude = (".claude/settings.json", ".claude/settings.local.json")
    return (
        *(f"{base}/{name}" for name in (*names, *skills)),
        *(f"{project}/.github/{name}" for name in local),
        *(f"{project}/{name}" for name in (".mcp.json", *claude)),
    )


def typed_command(prompt: str) -> tuple[Literal["start", "cancel"], str] | None:
    """(command, arguments) if the prompt is a command of Handrail, else None."""
    first, rest = (*prompt.split(None, 1), "", "")[:2]
    if not prompt.startswith(first or " "):
        return None
    if first[:1] == "/" and first[1:] in _COMMANDS:
        return _COMMANDS[first[1:]], rest
    begin, end = prompt.find(BEGIN), prompt.rfind(END)
    if not 0 <= begin < end:
        return None
    text = prompt[begin + len(BEGIN) : end].strip()
    name = next((name for name in _COMMANDS if f'<skill-context name="{name}">' in prompt[:begin]), None)
    return None if name is None else (_COMMANDS[name], "" if text == PLACE else text)


def copilot_home(env: Mapping[str, str], folder: str) -> str:
    return env.get("COPILOT_HOME") or f"{folder}/.copilot"


def record_path(conversation: str) -> str:
    return f"{_conversations()}/{conversation}/events.jsonl"


def _conversations() -> str:
    return f"{copilot_home(os.environ, os.environ.get('HOME') or os.path.expanduser('~'))}/session-state"


def main_conversation(agent: str) -> str:
    """The conversation in which a subagent works. `agent` is the conversation itself or a subagent of it.

    Copilot CLI writes its record in the background, so a subagent may act before the record has it. Raises
    `ValueError` if it stays unknown: the call is then denied.
    """
    if os.path.isdir(os.path.dirname(record_path(agent))):  # the record itself comes later than the folder
        return agent
    end, last_second = time.monotonic() + SECONDS, time.time() - 1
    parent = _recorded_in(agent)
    while parent is None:
        if time.monotonic() >= end:
            raise ValueError(f"no conversation has the subagent {agent}")
        time.sleep(_PAUSE)
        parent = _recorded_in(agent, last_second)
    return parent


def _recorded_in(agent: str, since: float = 0.0) -> str | None:
    """The conversation whose record has an event of this subagent, of those that changed since a time; or None."""
    folder = _conversations()
    names = os.listdir(folder) if os.path.isdir(folder) else []
    mark = f'"agentId":"{agent}"'.encode()
    changed = {name: time_ for name in names if (time_ := _changed(record_path(name))) > since}
    latest = sorted(changed, key=lambda name: -changed[name])
    return next((name for name in latest if mark in _content(record_path(name))), None)


def _changed(file: str) -> float:
    try:
        return os.stat(file).st_mtime
    except OSError:
        return 0.0


def _content(file: str) -> bytes:
    try:
        with open(file, "rb") as record:
            return record.read()
    except OSError:
        return b""


def kept(history: bytes) -> bytes:
    """What the model can still read: the events since the last compaction, without records of hooks.

    The text of a hook is part of the history only where it became part of a message.
    """
    lines = history.split(b"\n")
    compactions = [at for at, line in enumerate(lines) if line.startswith(_COMPACTED) and b'"success":true' in line]
    return b"\n".join(line for line in lines[compactions[-1] + 1 if compactions else 0 :] if not line.startswith(_HOOK))


def was_told(history: bytes, call: str) -> bool:
    """True if the history has the result of a call. Its id is ours: it is in the arguments that were permitted."""
    at = history.find(f'"{call}"'.encode())
    begin = history.rfind(b"\n", 0, at) + 1
    position = history.find(_CALL, begin, history.find(b"\n", at))
    if at < 0 or position < 0:
        return False
    id_ = history[position + len(_CALL) :].partition(b'"')[0]
    return _COMPLETE + id_ + b'"' in history[begin:]


def last_typed(file: str | None) -> str:
    """The last text that a person sent while the agent was at work; empty if the turn began after it.

    Copilot CLI calls no hook for such a text.
    """
    for line in reversed(_content(file or "").split(b"\n")):
        if not line.startswith(b'{"type":"user.message"'):
            continue
        try:
            about = jsonlite.loads(line.decode("utf-8", "replace"))["data"]
            return str(about.get("content") or "") if about.get("delivery") == "steering" else ""
        except (ValueError, KeyError, TypeError, AttributeError):
            return ""
    return ""
