"""Maps Claude Code's tools to Handrail's names, and reads what a call runs, reads and writes.

This runs at every tool call, so it imports little, and only from the standard library. Some names are those of pi's
tools, because workflows for pi-workflows use them. `TOOLS` was measured with version 2.1.325; workflows are checked
against it, hooks do not use it.
"""

from __future__ import annotations

from handrail import STEP_TOOL
from handrail.agents.requests import SUBAGENT_NAMES, mcp_aliases, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.extensions.contracts.messages import CallArguments

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


def arguments(tool: str, given: Mapping[str, Any], cwd: str) -> CallArguments:
    """What a call runs, reads and writes."""
    return {
        "runs": str(given["command"]) if tool in _RUNS and "command" in given else None,
        "reads": paths(given.get(_READS.get(tool, "")), cwd),
        "writes": paths(given.get(_WRITES.get(tool, "")), cwd),
    }


def aliases(tool: str) -> tuple[str, ...]:
    """The other names of a tool. A workflow may use any of them."""
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
