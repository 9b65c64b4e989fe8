"""Maps Copilot CLI's tools to Handrail's names, and reads what a call runs, reads and writes.

This runs at every tool call, so it imports little, and only from the standard library. Some names are those of pi's
tools, because workflows for pi-workflows use them.
"""

from __future__ import annotations

from handrail import STEP_TOOL
from handrail.agents.vocabulary import AGENT, absolute, joined_aliases, other_names, patched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.contracts.messages import Call

SERVER = "handrail-copilot"
"""The name of our MCP server. Other agents' lists of servers are loaded, too, and theirs is called `handrail`."""
OWN_STEP = f"{SERVER}-{STEP_TOOL}"
ASKED_STEP = f"{SERVER}/{STEP_TOOL}"
"""The names of our tool: when it is called, and when the person is asked for permission."""
HARMLESS = (
    "ask_user",
    "exit_plan_mode",
    "fetch_copilot_cli_documentation",
    "list_agents",
    "list_bash",
    "list_powershell",
    "read_agent",
    "read_bash",
    "read_powershell",
    "sql",
    "stop_bash",
    "stop_powershell",
    "task_complete",
    "tool_search",
)
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
    "task": AGENT,
    "view": ("read",),
    "web_fetch": ("fetch",),
    "web_search": ("fetch",),
    "write_agent": AGENT,
    "write_bash": ("bash",),
    "write_powershell": ("bash",),
}
_RUNS = {"bash": "command", "powershell": "command", "write_bash": "input", "write_powershell": "input"}
_WRITES = ("create", "edit", "str_replace_editor")
_READS = ("view", "grep", "glob")


def arguments(tool: str, given: Mapping[str, Any], cwd: str) -> Call:
    """What a call runs, reads and writes. A patch is in an argument of any name."""
    runs = given.get(_RUNS[tool]) if tool in _RUNS else None
    paths = _paths(given, cwd)
    if tool == "apply_patch":
        paths = tuple(absolute(path, cwd) for text in given.values() for path in patched(text))
    return {
        "runs": str(runs) if runs is not None else None,
        "reads": paths if tool in _READS else (),
        "writes": paths if tool in _WRITES or tool == "apply_patch" else (),
    }


def _paths(given: Mapping[str, Any], cwd: str) -> tuple[str, ...]:
    """The paths of a call: one in `path`, or one or several in `paths`."""
    several = given.get("paths")
    found = [given.get("path"), *(several if isinstance(several, list) else [several])]
    return tuple(absolute(path, cwd) for path in found if isinstance(path, str) and path)


def aliases(tool: str) -> tuple[str, ...]:
    """The other names of a tool. A workflow may use any of them."""
    known = _NAMES.get(tool)
    if known is not None:
        return other_names(tool, known)
    return (STEP_TOOL,) if tool == OWN_STEP else foreign_aliases(tool)


def foreign_aliases(tool: str) -> tuple[str, ...]:
    """The other names of `SERVER-TOOL`, a tool of a foreign MCP server. Both parts may contain hyphens."""
    return joined_aliases(tool, "-") if ":" not in tool else ()
