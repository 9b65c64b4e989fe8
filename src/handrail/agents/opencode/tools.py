"""Maps OpenCode's tools to Handrail's names, and reads what a call runs, reads and writes.

This runs at every tool call, so it imports little, and only from the standard library. Some names are those of pi's
tools, because workflows for pi-workflows use them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.contracts.messages import Call

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
    "task": ("agent", "subagent", "delegate_to_subagents"),
    "webfetch": ("fetch",),
    "websearch": ("fetch",),
    "codesearch": ("fetch",),
}
_OWN = ("bash", "edit", "read", "write", "lsp", "todoread", "todowrite", "workflow_step", *_NAMES, *HARMLESS)
"""Tools of OpenCode itself: all others have the name of their MCP server before their own."""
_WRITES = ("edit", "multiedit", "write")
_READS = {"read": "filePath", "glob": "path", "grep": "path", "list": "path", "lsp": "filePath"}
_PATCHED = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


def arguments(tool: str, given: Mapping[str, Any], cwd: str) -> Call:
    """What a call runs, reads and writes."""
    command = given.get("command")
    writes = _paths(given.get("filePath"), cwd) if tool in _WRITES else ()
    if tool in ("apply_patch", "patch"):
        writes = _patched(given.get("patchText"), cwd)
    return {
        "runs": command if tool == "bash" and isinstance(command, str) else None,
        "reads": _paths(given.get(_READS[tool]), cwd) if tool in _READS else (),
        "writes": writes,
    }


def _paths(path: Any, cwd: str) -> tuple[str, ...]:
    if not isinstance(path, str) or not path:
        return ()
    return (path if path.startswith("/") else f"{cwd}/{path}",)


def _patched(patch: Any, cwd: str) -> tuple[str, ...]:
    """The files that a patch adds, changes, deletes, or moves a file to."""
    found: tuple[str, ...] = ()
    for line in patch.splitlines() if isinstance(patch, str) else ():
        for start in _PATCHED:
            if line.startswith(start):
                found += _paths(line[len(start) :].strip(), cwd)
    return found


def aliases(tool: str) -> tuple[str, ...]:
    """The other names of a tool. A workflow may use any of them."""
    if tool in _OWN:
        return _NAMES.get(tool, ())
    return foreign_aliases(tool)


def foreign_aliases(tool: str) -> tuple[str, ...]:
    """The other names of a tool of an MCP server: both the server and its tool may have underscores in their names."""
    parts = tool.split("_")
    return tuple(f"mcp:{'_'.join(parts[:at])}/{'_'.join(parts[at:])}" for at in range(1, len(parts)))
