"""Maps pi's tools to Handrail's names, and reads what a call runs, reads and writes.

This runs at every tool call, so it imports little, and only from the standard library.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.contracts.messages import Call

STEP = "workflow_step"
HARMLESS = ("tool_search",)
"""Tools that change nothing: this one looks up another tool."""
_AGENT = ("agent", "task", "subagent", "delegate_to_subagents")
_NAMES: dict[str, tuple[str, ...]] = {
    "delegate_to_subagents": _AGENT,
    "find": ("search",),
    "grep": ("search",),
    "ls": ("search",),
    "powershell": ("bash",),
    "subagent": _AGENT,
    "task": _AGENT,
}
_READS = ("read", "grep", "find", "ls")
_WRITES = ("edit", "write")
_RUNS = ("bash", "powershell")


def arguments(tool: str, given: Mapping[str, Any], cwd: str) -> Call:
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
    return (path if path.startswith("/") else f"{cwd}/{path}",)


def aliases(tool: str) -> tuple[str, ...]:
    """The other names of a tool. A workflow may use any of them."""
    if tool in _NAMES:
        return tuple(name for name in _NAMES[tool] if name != tool)
    if not tool.startswith("mcp__"):
        return ()
    server, _, name = tool[5:].partition("__")
    return (f"mcp:{server}/{name}",)
