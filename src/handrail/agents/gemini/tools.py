"""Gemini CLI's tools in Handrail's vocabulary, and the prompts that a hook recognises as ours.

Reads what a call runs, reads and writes. Runs at every tool call. pi's names are aliases, too: workflows for
pi-workflows use them. `TOOLS` was measured with version 0.61.0; workflows are checked against it, hooks do not use it.
"""

from __future__ import annotations

from handrail import STEP_TOOL
from handrail.agents.requests import SUBAGENT_NAMES, joined_aliases, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.extensions.contracts.messages import CallArguments

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


def arguments(tool: str, given: Mapping[str, Any], cwd: str) -> CallArguments:
    """What a call runs, reads and writes."""
    return {
        "runs": _command(given) if tool == "run_shell_command" and "command" in given else None,
        "reads": paths(given.get(_READS.get(tool, "")), cwd),
        "writes": paths(given.get(_WRITES.get(tool, "")), cwd),
    }


def _command(given: Mapping[str, Any]) -> str:
    """The shell command, with the folder in which it runs."""
    command, folder = str(given["command"]), given.get("dir_path")
    if not isinstance(folder, str) or not folder:
        return command
    quoted = "'" + folder.replace("'", "'\"'\"'") + "'"
    return f"cd {quoted} && {command}"


def aliases(tool: str) -> tuple[str, ...]:
    """The other names of a tool. A workflow may use any of them."""
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


STARTS = "Start a Handrail workflow: "
STARTED = "\n\nHandrail started this workflow. "
CANCELS = "Cancel the Handrail workflow of this conversation."
"""What `/workflow` and `/cancel-workflow` become before a hook sees them."""
SENDS_ON = "Handrail: "
"""The start of a reminder. Gemini CLI reports a reminder like a prompt of a person."""


TOOLS = (
    "activate_skill", "ask_user", "complete_task", "enter_plan_mode", "exit_plan_mode", "get_internal_docs", "glob",
    "google_web_search", "grep_search", "invoke_agent", "list_background_processes", "list_directory",
    "list_mcp_resources", "read_background_output", "read_file", "read_many_files", "read_mcp_resource", "replace",
    "run_shell_command", "tracker_add_dependency", "tracker_create_task", "tracker_get_task", "tracker_list_tasks",
    "tracker_update_task", "tracker_visualize", "update_topic", "web_fetch", "write_file", "write_todos",
)  # fmt: skip
FORMER_TOOLS = ("save_memory", "search_file_content")
"""Tools of other versions. A list may name them, but they are not there."""
