"""Maps pi's tools to Handrail's names, and reads what a call runs, reads and writes.

This runs at every tool call, so it imports little, and only from the standard library. `TOOLS` was measured with
0.74.2, 0.87.1 and 1.5.0; workflows are checked against it, hooks do not use it.
"""

from __future__ import annotations

from handrail.agents.requests import SUBAGENT_NAMES, absolute, mcp_aliases, other_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.extensions.contracts.messages import CallArguments

HARMLESS = ("tool_search",)
"""Tools that change nothing: this one looks up another tool."""
_NAMES: dict[str, tuple[str, ...]] = {
    "delegate_to_subagents": SUBAGENT_NAMES,
    "find": ("search",),
    "grep": ("search",),
    "ls": ("search",),
    "powershell": ("bash",),
    "subagent": SUBAGENT_NAMES,
    "task": SUBAGENT_NAMES,
}
_READS = ("read", "grep", "find", "ls")
_WRITES = ("edit", "write")
_RUNS = ("bash", "powershell")


def arguments(tool: str, given: Mapping[str, Any], cwd: str) -> CallArguments:
    """What a call runs, reads and writes."""
    command = given.get("command")
    paths = _paths(given, cwd)
    return {
        "runs": command if tool in _RUNS and isinstance(command, str) else None,
        "reads": paths if tool in _READS else (),
        "writes": paths if tool in _WRITES else (),
    }


def _paths(given: Mapping[str, Any], cwd: str) -> tuple[str, ...]:
    """The path of a call. pi takes `@path` and `~/path`, too; `file_path` is another name that its models use."""
    path = given.get("path", given.get("file_path"))
    if not isinstance(path, str) or not path:
        return ()
    path = path.removeprefix("@")
    if path == "~" or path.startswith("~/"):
        import os

        return (os.path.expanduser(path),)
    return (absolute(path, cwd),)


def aliases(tool: str) -> tuple[str, ...]:
    """The other names of a tool. A workflow may use any of them."""
    if tool in _NAMES:
        return other_names(tool, _NAMES[tool])
    return mcp_aliases(tool)


TOOLS = ("bash", "edit", "find", "grep", "ls", "powershell", "read", "write")
FORMER_TOOLS = (
    "codemode", "list_mcp_resource_templates", "list_mcp_resources", "read_mcp_resource", "tool_search",
    "delegate_to_subagents", "subagent", "task",
)  # fmt: skip
"""Tools of the newest version, and tools for subagents, which extensions add. A list may name them."""
