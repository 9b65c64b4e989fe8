"""Codex as a host: its tools, its hook messages as Handrail's requests, our answers in its format.

Codex reads, searches and patches with the shell. So the names of a shell call depend on its command: one that surely
only reads is also called `read`; a command that is not understood does not count. Standard library only, not even `re`.
"""

from __future__ import annotations

import os

from handrail import STEP_TOOL
from handrail.agents import requests
from handrail.agents.requests import SUBAGENT_NAMES, absolute, mcp_aliases, patched_files, paths
from handrail.agents.requests import conversation as conversation
from handrail.base.files import upwards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from handrail.extensions.contracts import messages
    from handrail.extensions.contracts.agent import Commands, Enforcement

COMMANDS: Commands = {"start": "$workflow", "cancel": "$cancel-workflow"}
CONVERSATION: str | None = None
ENFORCES: Mapping[str, Enforcement] = {**requests.ENFORCED, "web search of the model's service": "none"}
LINKS = True
_TYPED: dict[str, Literal["start", "cancel"]] = {"workflow": "start", "cancel-workflow": "cancel"}
_CONFIG = ".codex/config.toml"
TOOLS = (
    "Bash", "apply_patch", "create_goal", "exec_command", "followup_task", "get_goal", "interrupt_agent", "list_agents",
    "list_mcp_resource_templates", "list_mcp_resources", "read_mcp_resource", "request_user_input",
    "request_user_input_async", "send_message", "sleep", "spawn_agent", "update_goal", "view_image", "wait",
    "wait_agent", "write_stdin",
)  # fmt: skip
FORMER_TOOLS = ("resume_agent", "send_input", "shell", "spawn_agents_on_csv", "update_plan", "web_search")
"""Tools of other versions, and one that runs in the model's service, where no hook sees it."""
AGENT_SHELL = "CODEX_THREAD_ID"
"""Codex sets this variable in the shell of the agent, and not for hooks."""
OWN_STEP = f"mcp__handrail__{STEP_TOOL}"
HARMLESS = ("get_goal", "list_agents", "request_user_input", "request_user_input_async", "sleep", "update_plan", "wait")
"""Tools that change nothing: they ask the person, wait, or note what the agent plans."""
PATCH = ("apply_patch", "edit", "write")
_SHELL = ("bash", "exec_command", "shell", "write_stdin")
_NAMESPACES = ("collaboration", "clock", "functions", "multi_agent_v1", "multi_agent_v2")
"""Codex writes the namespace of a tool before its name, without a separator: `collaborationspawn_agent`."""
_ON_SUBAGENTS = (
    "followup_task", "interrupt_agent", "resume_agent", "send_input", "send_message", "spawn_agent",
    "spawn_agents_on_csv", "wait_agent",
)  # fmt: skip
_NAMES: dict[str, tuple[str, ...]] = {
    "Bash": _SHELL,
    "apply_patch": PATCH[1:],
    "list_mcp_resource_templates": ("search",),
    "list_mcp_resources": ("search",),
    "read_mcp_resource": ("read",),
    "view_image": ("read",),
    "web_search": ("fetch",),
    **dict.fromkeys(("exec_command", "write_stdin", "shell"), ("bash", "Bash")),
    **dict.fromkeys(_ON_SUBAGENTS, SUBAGENT_NAMES),
}


def bare_name(tool: str) -> str:
    for prefix in _NAMESPACES:
        rest = tool[len(prefix) :]
        if tool.startswith(prefix) and (rest in _NAMES or rest in HARMLESS):
            return rest
    return tool


def aliases(tool: str) -> tuple[str, ...]:
    if tool == OWN_STEP:
        return (STEP_TOOL,)
    if tool.startswith("mcp__"):
        return mcp_aliases(tool)
    name = bare_name(tool)
    names = _NAMES.get(name, ())
    return names if name == tool else (name, *names)


def call_aliases(tool: str, tool_input: Mapping[str, Any]) -> tuple[str, ...]:
    """The other names of a call. A shell command that surely only reads is also called `read` and `search`."""
    names = aliases(tool)
    return (*names, "read", "search") if tool == "Bash" and only_reads(_command(tool_input)) else names


def other_tools(tool: str, tool_input: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """The names of other tools whose work a call does: a shell command can apply a patch."""
    return (PATCH,) if tool == "Bash" and _has_patch(_command(tool_input)) else ()


def arguments(tool: str, tool_input: Mapping[str, Any], cwd: str) -> messages.CallArguments:
    command, runs = _command(tool_input), tool in ("Bash", *_NAMES["exec_command"], "exec_command", "shell")
    return {
        "runs": command if runs and command else None,
        "reads": paths(tool_input.get("path"), cwd) if tool == "view_image" else (),
        "writes": _patched_paths(command, cwd) if tool == "apply_patch" or (runs and _has_patch(command)) else (),
    }


def _command(tool_input: Mapping[str, Any]) -> str:
    for name in ("command", "cmd", "input"):
        if isinstance(tool_input.get(name), str):
            return str(tool_input[name])
    return ""


def _has_patch(command: str) -> bool:
    """True if a shell command applies a patch, or may do so."""
    if "patch" not in command.lower():
        return False
    if "*** Begin Patch" in command:
        return True
    for sign in ";|&()<>\"'\n\t`$":
        command = command.replace(sign, " ")
    return any(word.rpartition("/")[2] in ("apply_patch", "applypatch") for word in command.split(" "))


def _patched_paths(text: str, cwd: str) -> tuple[str, ...]:
    """The files that a patch names. A shell command may change to another folder before it applies the patch."""
    words = text.partition("*** Begin Patch")[0].replace(";", " ; ").replace("&&", " && ").split()
    folders = [cwd]
    for at, word in enumerate(words[:-1]):
        if word == "cd":
            folders.append(absolute(words[at + 1].strip("'\""), cwd))
    return tuple(dict.fromkeys(absolute(name, folder) for name in patched_files(text) for folder in folders))


def request(data: Mapping[str, Any]) -> messages.HostRequest | None:
    """Prompts and stops of a subagent have the id of its main conversation, too, but they are not about it."""
    event = data["hook_event_name"]
    if event == "PreToolUse":
        return _before_tool(data)
    origin = requests.hook_origin(data)
    if event == "SubagentStart":
        return requests.subagent(origin)
    if data.get("agent_id"):
        return None
    if event == "UserPromptSubmit":
        return _prompt(data, origin)
    if event == "SessionStart":
        return requests.conversation_opened(origin, data["source"])
    return requests.stop(origin) if event == "Stop" else None


def _before_tool(data: Mapping[str, Any]) -> messages.HostRequest:
    """A call of a tool. The settings of a project can name another server as ours is named in the user's."""
    origin, tool = requests.hook_origin(data), str(data["tool_name"])
    tool_input, is_subagent = requests.as_object(data.get("tool_input")), bool(data.get("agent_id"))
    if tool == OWN_STEP:
        step = requests.step(origin, OWN_STEP, tool_input, is_subagent=is_subagent)
        step["call_id"] = step["call"] = str(data.get("tool_use_id") or "")
        if _has_project_server(origin["cwd"]):
            step["aliases"], step["installed"] = mcp_aliases(OWN_STEP), (_CONFIG, "mcp_servers", "handrail")
        return step
    names, call = call_aliases(tool, tool_input), arguments(tool, tool_input, origin["cwd"])
    is_harmless = bare_name(tool) in HARMLESS
    about = requests.tool(origin, tool, names, call, is_harmless=is_harmless, is_subagent=is_subagent)
    return {**about, "also": other_tools(tool, tool_input)}


def _has_project_server(cwd: str) -> bool:
    """True if settings of a project, which win over the user's, may define a server with the name of ours."""
    user_folder = os.path.realpath(os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex"))
    paths = (os.path.join(folder, _CONFIG) for folder in upwards(os.path.abspath(cwd)))
    return any(os.path.realpath(os.path.dirname(path)) != user_folder and _mentions_server(path) for path in paths)


def _mentions_server(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            text = file.read()
    except FileNotFoundError:
        return False
    except OSError:
        return not os.path.isdir(os.path.dirname(path))
    return b"mcp_servers" in text and b"handrail" in text


def _prompt(data: Mapping[str, Any], origin: messages.RequestOrigin) -> messages.HostRequest:
    """A prompt, or one of our commands: `$workflow`, or `/workflow` with a space before it.

    An agent can start Codex in its shell and resume its own conversation there. Such a prompt is no command.
    """
    name, rest = typed_command(str(data.get("prompt", "")))
    if name is None or os.environ.get(AGENT_SHELL):
        return requests.prompt(origin, data.get("turn_id"))
    return requests.command(origin, name, rest, data.get("turn_id"))


def typed_command(text: str) -> tuple[Literal["start", "cancel"] | None, str]:
    """The command that a prompt is, and its arguments; None if it is no command of ours.

    A prompt that begins with a line break is none: so a flow can pass on any text.
    """
    text = text.lstrip(" ")
    if text[:1] not in ("$", "/"):
        return None, ""
    word, rest = (*text[1:].split(None, 1), "", "")[:2]
    return _TYPED.get(word), rest


def reply(
    data: Mapping[str, Any], _request: messages.HostRequest, answer: messages.HostAnswer
) -> dict[str, Any] | None:
    """The answer about a tool call is `{}` if it is allowed: the stub treats an empty output as a failure."""
    event = data["hook_event_name"]
    if answer["kind"] == "verdict":
        if answer["allow"]:
            return {}
        denial = {"permissionDecision": "deny", "permissionDecisionReason": answer["reason"] or "denied"}
        return {"hookSpecificOutput": {"hookEventName": event, **denial}}
    if answer["kind"] == "held":
        return {"decision": "block", "reason": answer["text"]}
    if answer["kind"] == "notice":
        return requests.system_message(answer["text"])
    if answer["kind"] == "stop":
        if answer["send_on"]:
            return {"decision": "block", "reason": answer["send_on"]}
        return requests.system_message(requests.for_person(answer))
    if answer["kind"] != "context":
        return None
    return requests.hook_context(event, answer["text"], answer["notice"] or answer["status_line"])


def protected(env: Mapping[str, str], home: str, project: str) -> tuple[str, ...]:
    """Settings that can add hooks or servers or switch them off, our stubs, and the commands."""
    base = env.get("CODEX_HOME") or home + "/.codex"
    present = os.listdir(base) if os.path.isdir(base) else []
    profiles = [name for name in present if name.endswith(".config.toml")]
    names = ("config.toml", "hooks.json", "handrail", "skills/workflow", "skills/cancel-workflow", *profiles)
    return (*(f"{base}/{name}" for name in names), project + "/.codex")


def was_told(history: bytes, call: str) -> bool:
    """True if a line of the history is the result of this call."""
    mark = f'"call_id":"{call}"'.encode()
    return any(mark in line and b'"function_call_output"' in line for line in history.split(b"\n"))


def in_one_message(history: bytes, earlier: str, later: str) -> bool | None:
    """Codex writes all calls of a message before the first result."""
    marks = [f'"call_id":"{call}"'.encode() for call in (earlier, later)]
    lines = history.split(b"\n")
    results = [at for at, line in enumerate(lines) if marks[0] in line and b'"function_call_output"' in line]
    calls = [at for at, line in enumerate(lines) if marks[1] in line and b'"function_call"' in line]
    return None if results and not calls else bool(results and calls) and calls[0] < results[0]


def forked_from(history: bytes) -> str | None:
    """The parent of a fork. The first line of a history describes the conversation; it has no texts of the parent."""
    from handrail.base import jsonlite

    about = jsonlite.loads(history.partition(b"\n")[0].decode("utf-8", "replace"))
    parent = about["payload"].get("forked_from_id")
    return str(parent) if parent else None


def step_caller(_arguments: Mapping[str, Any], meta: Mapping[str, Any]) -> messages.StepCaller:
    """Who calls `workflow_step`. Codex tells it with every call: a subagent has its own thread in the same session.

    Codex skips a hook at another place in `hooks.json` than the one that the person trusts, and tells nobody.
    """
    session, thread = str(meta.get("sessionId") or ""), str(meta.get("threadId") or "")
    about = meta.get("x-codex-turn-metadata")
    is_subagent = isinstance(about, dict) and about.get("thread_source") == "subagent"
    return {
        "conversation": session,
        "is_subagent": is_subagent or thread != session,
        "call": str(meta.get("callId") or ""),
        "needs_hook": True,
    }


_READERS = frozenset((
    "basename", "cat", "cd", "cmp", "column", "comm", "cut", "diff", "dirname", "du", "echo", "egrep", "false",
    "fgrep", "fold", "grep", "head", "hexdump", "jq", "ls", "md5sum", "nl", "od", "paste", "printf", "pwd",
    "readlink", "realpath", "rev", "seq", "sha1sum", "sha256sum", "stat", "strings", "tac", "tail", "test", "tr",
    "true", "wc", "which", "[",
))  # fmt: skip
"""Programs that write nothing and start no other program, whatever their options are."""
_READERS_UNLESS = {
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "file": ("-C", "--compile"),
    "find": ("-delete", "-exec", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok", "-okdir"),
    "rg": ("--pre", "--hostname-bin", "-z", "--search-zip"),
    "sort": ("-o", "--output", "--compress-program", "-T", "--temporary-directory"),
    "tree": ("-o",),
    "uniq": (),
}
"""Programs that only read unless they get one of these options."""
_GIT = frozenset(("blame", "cat-file", "diff", "log", "ls-files", "ls-tree", "rev-list", "rev-parse", "show", "status"))
_GIT_UNLESS = ("-c", "-o", "-O", "--ext-diff", "--textconv", "--output", "--exec-path", "--config-env", "--git-dir")
_REFUSED = "`$<>(){}!\\\r\0"
"""Signs with which a command could do something else, outside of single quotes."""


def only_reads(line: str) -> bool:
    """True if every command of the line is known to only read. Redirections and expansions do not count as known."""
    commands = _commands(line)
    return bool(commands) and all(map(_reads, commands))


def _reads(words: list[str]) -> bool:
    program, *rest = words
    if program in _READERS:
        return True
    if program in _READERS_UNLESS:
        operands = [word for word in rest if not word.startswith("-")]
        if program == "uniq" and len(operands) > 1:  # the second is a file that it writes
            return False
        return not any(_is_option(word, _READERS_UNLESS[program]) for word in rest)
    if program == "git":
        return bool(rest) and rest[0] in _GIT and not any(_is_option(word, _GIT_UNLESS) for word in rest)
    return program == "sed" and _is_plain_sed(rest)


def _is_option(word: str, options: tuple[str, ...]) -> bool:
    """True if a word may be one of these options: also with a value, abbreviated, or among other letters."""
    name = word.partition("=")[0]
    for option in options:
        if name == option or (name.startswith("--") and len(name) > 2 and option.startswith(name)):
            return True
        if len(option) == 2 and word.startswith("-") and not word.startswith("--") and option[1] in word:
            return True
    return False


def _is_plain_sed(words: list[str]) -> bool:
    """True for `sed -n 'LINES'p FILES`: other scripts can write files and run commands."""
    if len(words) < 2 or words[0] != "-n" or any(word.startswith("-") for word in words[1:]):
        return False
    lines, last = words[1][:-1], words[1][-1:]
    return last == "p" and all(char in "0123456789,$ " for char in lines)


def _commands(line: str) -> list[list[str]]:
    """The words of each command in a line; an empty list if the line has a sign that is not understood."""
    commands: list[list[str]] = [[]]
    word, has_word, quote = "", False, ""
    for char in line:
        if quote == "'" and char != "'":
            word += char
        elif quote and char == quote:
            quote = ""
        elif char in _REFUSED:
            return []
        elif quote:
            word += char
        elif char in "'\"":
            quote, has_word = char, True
        elif char in " \t;|&\n":
            if has_word:
                commands[-1].append(word)
            word, has_word = "", False
            if char not in " \t" and commands[-1]:
                commands.append([])
        else:
            word, has_word = word + char, True
    if quote:
        return []
    if has_word:
        commands[-1].append(word)
    return [words for words in commands if words]
