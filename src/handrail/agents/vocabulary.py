"""Reads tool calls of several agents: paths, patches, and the names of tools of MCP servers.

Runs at every tool call, so it imports nothing at run time.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

AGENT = ("agent", "task", "subagent", "delegate_to_subagents")
"""What a tool that starts a subagent is called in workflows. All but the first are names for pi-workflows."""
PATCHED = ("*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:")
"""The lines of a patch that name a file."""


def absolute(path: str, cwd: str) -> str:
    return path if path.startswith("/") else f"{cwd}/{path}"


def paths(path: Any, cwd: str) -> tuple[str, ...]:
    """The path that an argument names; empty if it names none."""
    return (absolute(path, cwd),) if isinstance(path, str) and path else ()


def patched(patch: Any) -> list[str]:
    """The files that a patch adds, changes, deletes, or moves a file to."""
    lines = [line.strip() for line in patch.splitlines()] if isinstance(patch, str) else []
    named = [line[len(mark) :].strip() for line in lines for mark in PATCHED if line.startswith(mark)]
    return [name for name in named if name]


def other_names(tool: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names that are not the tool's own."""
    return tuple(name for name in names if name != tool)


def mcp_aliases(tool: str) -> tuple[str, ...]:
    """The other name of `mcp__SERVER__TOOL`; empty if the tool is not called like that."""
    if not tool.startswith("mcp__"):
        return ()
    server, _, name = tool[5:].partition("__")
    return (f"mcp:{server}/{name}",)


def joined_aliases(tool: str, separator: str) -> tuple[str, ...]:
    """All possible other names of a tool whose name is that of its server, a separator, and its own name.

    Both names may contain the separator.
    """
    parts = tool.split(separator)
    return tuple(f"mcp:{separator.join(parts[:at])}/{separator.join(parts[at:])}" for at in range(1, len(parts)))
