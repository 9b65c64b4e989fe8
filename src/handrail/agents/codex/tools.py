"""Maps Codex's tools to Handrail's names, and reads what a call runs, reads and writes.

This runs at every tool call, so it imports little, and only from the standard library. Codex has few tools: it reads
and searches with the shell, and writes with patches, which it also takes from the shell. So the names of a shell call
depend on its command. Some names are those of pi's tools, because workflows for pi-workflows use them.
"""

from __future__ import annotations

from handrail import STEP_TOOL
from handrail.agents.vocabulary import AGENT, absolute, mcp_aliases, patched, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.contracts.messages import Call

AGENT_SHELL = "CODEX_THREAD_ID"
"""Codex sets this variable in the shell of the agent, and not for hooks."""
OWN_STEP = f"mcp__handrail__{STEP_TOOL}"
HARMLESS = ("get_goal", "list_agents", "request_user_input", "request_user_input_async", "sleep", "update_plan", "wait")
"""Tools that change nothing: they ask the person, wait, or note what the agent plans."""
PATCH = ("apply_patch", "edit", "write")
_SHELL = ("bash", "exec_command", "shell", "write_stdin")
_NAMESPACES = ("collaboration", "clock", "functions", "multi_agent_v1", "multi_agent_v2")
"""Codex writes the namespace of a tool before its name, without a separator: `collaborationspawn_agent`."""
_NAMES: dict[str, tuple[str, ...]] = {
    "Bash": _SHELL,
    "exec_command": ("bash", "Bash"),
    "write_stdin": ("bash", "Bash"),
    "shell": ("bash", "Bash"),
    "apply_patch": PATCH[1:],
    "followup_task": AGENT,
    "interrupt_agent": AGENT,
    "list_mcp_resource_templates": ("search",),
    "list_mcp_resources": ("search",),
    "read_mcp_resource": ("read",),
    "resume_agent": AGENT,
    "send_input": AGENT,
    "send_message": AGENT,
    "spawn_agent": AGENT,
    "spawn_agents_on_csv": AGENT,
    "view_image": ("read",),
    "wait_agent": AGENT,
    "web_search": ("fetch",),
}


def plain(tool: str) -> str:
    """The name of a tool without its namespace."""
    for prefix in _NAMESPACES:
        rest = tool[len(prefix) :]
        if tool.startswith(prefix) and (rest in _NAMES or rest in HARMLESS):
            return rest
    return tool


def aliases(tool: str) -> tuple[str, ...]:
    """The other names of a tool. A workflow may use any of them."""
    if tool == OWN_STEP:
        return (STEP_TOOL,)
    if tool.startswith("mcp__"):
        return mcp_aliases(tool)
    name = plain(tool)
    known = _NAMES.get(name, ())
    return known if name == tool else (name, *known)


def call_aliases(tool: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    """The other names of a call. A shell command that surely only reads is also called `read` and `search`."""
    names = aliases(tool)
    if tool != "Bash":
        return names
    from handrail.agents.codex.reading import only_reads

    return (*names, "read", "search") if only_reads(_command(given)) else names


def parts(tool: str, given: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """The names of other tools whose work a call does: a shell command can apply a patch."""
    return (PATCH,) if tool == "Bash" and _has_patch(_command(given)) else ()


def arguments(tool: str, given: Mapping[str, Any], cwd: str) -> Call:
    """What a call runs, reads and writes."""
    command, runs = _command(given), tool in ("Bash", *_NAMES["exec_command"], "exec_command", "shell")
    return {
        "runs": command if runs and command else None,
        "reads": paths(given.get("path"), cwd) if tool == "view_image" else (),
        "writes": _patched(command, cwd) if tool == "apply_patch" or (runs and _has_patch(command)) else (),
    }


def _command(given: Mapping[str, Any]) -> str:
    for name in ("command", "cmd", "input"):
        if isinstance(given.get(name), str):
            return str(given[name])
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


def _patched(text: str, cwd: str) -> tuple[str, ...]:
    """The files that a patch names. In a shell command, a patch may be applied in another folder."""
    folders = [cwd, *(absolute(word, cwd) for word in _changed_folders(text))]
    return tuple(dict.fromkeys(absolute(name, folder) for name in patched(text) for folder in folders))


def _changed_folders(text: str) -> list[str]:
    """The folders that the shell command before a patch changes to."""
    words = text.partition("*** Begin Patch")[0].replace(";", " ; ").replace("&&", " && ").split()
    return [words[i + 1].strip("'\"") for i, word in enumerate(words[:-1]) if word == "cd"]
