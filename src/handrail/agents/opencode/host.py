"""OpenCode as a host: its tools, the messages of our plugin as Handrail's requests, our answers to the plugin.

The plugin (`plugin.js`) only names the conversation and the caller, which OpenCode tells it. Standard library only.
"""

from __future__ import annotations

from handrail import STEP_TOOL
from handrail.agents import requests
from handrail.agents.requests import SUBAGENT_NAMES, absolute, joined_aliases, other_names, patched_files, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.extensions.contracts import messages
    from handrail.extensions.contracts.agent import Commands, Enforcement

COMMANDS: Commands = {"start": "/workflow", "cancel": "/cancel-workflow"}
CONVERSATION: str | None = None
ENFORCES: Mapping[str, Enforcement] = {**requests.ENFORCED, "stop": "partial"}
LINKS = True
TOOLS = (
    "apply_patch", "bash", "edit", "glob", "grep", "question", "read", "skill", "task", "todowrite", "webfetch",
    "websearch", "write",
)  # fmt: skip
FORMER_TOOLS = (
    "codesearch", "execute", "list", "lsp", "multiedit", "patch", "plan_enter", "plan_exit", "todoread",
)  # fmt: skip
"""Tools of other versions, and tools that are there only if a setting turns them on."""
HARMLESS = ("invalid", "question", "plan_enter", "plan_exit", "StructuredOutput")
"""Tools that change nothing: they talk to the person, change the mode, or report a call that is not valid."""
_NAMES: dict[str, tuple[str, ...]] = {
    "apply_patch": ("edit", "write"),
    "execute": ("bash",),  # runs a program that calls other tools
    "glob": ("search", "find"),
    "grep": ("search",),
    "list": ("search", "ls"),
    "multiedit": ("edit",),
    "patch": ("edit", "write"),
    "skill": ("bash",),  # a skill may contain shell commands that the agent runs with its folder
    "task": SUBAGENT_NAMES,
    "webfetch": ("fetch",),
    "websearch": ("fetch",),
    "codesearch": ("fetch",),
    **dict.fromkeys(("bash", "edit", "read", "write", "lsp", "todoread", "todowrite", STEP_TOOL, *HARMLESS), ()),
}
"""The tools of OpenCode itself. All others have the name of their MCP server before their own."""
_WRITES = ("edit", "multiedit", "write")
_READS = {"read": "filePath", "glob": "path", "grep": "path", "list": "path", "lsp": "filePath"}


def arguments(tool: str, tool_input: Mapping[str, Any], cwd: str) -> messages.CallArguments:
    command = tool_input.get("command")
    writes = paths(tool_input.get("filePath"), cwd) if tool in _WRITES else ()
    if tool in ("apply_patch", "patch"):
        writes = tuple(absolute(path, cwd) for path in patched_files(tool_input.get("patchText")))
    return {
        "runs": command if tool == "bash" and isinstance(command, str) else None,
        "reads": paths(tool_input.get(_READS[tool]), cwd) if tool in _READS else (),
        "writes": writes,
    }


def aliases(tool: str) -> tuple[str, ...]:
    return other_names(tool, _NAMES[tool]) if tool in _NAMES else joined_aliases(tool, "_")


def conversation(data: Mapping[str, Any]) -> str:
    return str(data["session"])


def request(data: Mapping[str, Any]) -> messages.HostRequest | None:
    kind, origin = data["type"], requests.origin(conversation(data), data.get("cwd"))
    if kind == "tool":
        return _before_tool(data, origin)
    if kind == "model":
        return requests.model(origin, data.get("told"))
    if kind == "subagent":
        return requests.subagent(origin)
    if kind == "prompt":
        return requests.prompt(origin, data.get("turn"))  # of a person: the plugin does not report our own reminders
    if kind == "command":
        name, arguments = data["name"], str(data.get("arguments") or "")
        return requests.command(origin, "cancel" if name == "cancel" else "start", arguments)
    if kind == "branch":
        return requests.branch(origin, requests.branch_point(data.get("at")))
    return requests.stop(origin, was_aborted=bool(data.get("wasAborted"))) if kind == "stop" else None


def _before_tool(data: Mapping[str, Any], origin: messages.RequestOrigin) -> messages.HostRequest:
    """A call. A server with the name `workflow` can have a tool with the name of ours; the plugin tells which it is."""
    message = str(data.get("message") or "")
    tool, tool_input, is_subagent = str(data["tool"]), requests.as_object(data.get("args")), bool(data["isSubagent"])
    if tool == STEP_TOOL and data.get("isOwn") is True:
        step = requests.step(origin, tool, tool_input, is_subagent=is_subagent)
        return {**step, "message": message, "call": str(data.get("call") or "")}
    name = joined_aliases(tool, "_")[0] if tool == STEP_TOOL else tool
    call, is_harmless = arguments(tool, tool_input, origin["cwd"]), tool in HARMLESS
    about = requests.tool(origin, name, aliases(tool), call, is_harmless=is_harmless, is_subagent=is_subagent)
    return {**about, "message": message}


def reply(
    _data: Mapping[str, Any], request: messages.HostRequest, answer: messages.HostAnswer
) -> dict[str, Any] | None:
    """The answer for the plugin. A verdict always has one of the keys `allow` and `deny`."""
    if answer["kind"] == "verdict":
        return {"allow": True} if answer["allow"] else {"deny": answer["reason"] or "Handrail denies this call."}
    if answer["kind"] == "held":
        return {"held": answer["text"]}
    if answer["kind"] == "notice":
        return {"failed" if request["event"] == "branch" else "notice": answer["text"]}
    if answer["kind"] == "names":
        return None
    if answer["kind"] == "stop":
        texts = {"prompt": answer["send_on"], "notice": requests.for_person(answer)}
    else:
        texts = {name: answer[name] for name in ("text", "title", "notice")} | {"mark": answer.get("mark")}
    return {name: text for name, text in texts.items() if text}


def protected(env: Mapping[str, str], home: str, project: str) -> tuple[str, ...]:
    """Settings and folders that can add plugins, tools and commands, or remove ours; and OpenCode's own records."""
    settings = (env.get("XDG_CONFIG_HOME") or home + "/.config") + "/opencode"
    records = (env.get("XDG_DATA_HOME") or home + "/.local/share") + "/opencode"
    named = tuple(path for name in ("OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR") if (path := env.get(name)))
    files = tuple(
        f"{project}/{name}" for name in ("opencode.json", "opencode.jsonc", ".opencode", ".handrail/opencode")
    )
    data = tuple(f"{records}/{name}" for name in ("opencode.db", "opencode.db-wal", "opencode.db-shm", "storage"))
    return (*files, settings, home + "/.opencode", *named, *data)


def step_caller(_arguments: Mapping[str, Any], meta: Mapping[str, Any]) -> messages.StepCaller:
    """Who calls `workflow_step`. The plugin tells it beside the arguments, where the model cannot write."""
    return requests.caller(requests.as_object(meta.get("handrail")), "session", "isSubagent", "call")
