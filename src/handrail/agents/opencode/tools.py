"""Maps OpenCode's tools to Handrail's names, and reads what a call runs, reads and writes.

This runs at every tool call, so it imports little, and only from the standard library. Some names are those of pi's
tools, because workflows for pi-workflows use them. `TOOLS` was measured with version 1.18.33; workflows are checked
against it, hooks do not use it.
"""

from __future__ import annotations

from handrail import STEP_TOOL
from handrail.agents.requests import SUBAGENT_NAMES, absolute, joined_aliases, other_names, patched_files, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.extensions.contracts.messages import CallArguments

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
}
_OWN = ("bash", "edit", "read", "write", "lsp", "todoread", "todowrite", STEP_TOOL, *_NAMES, *HARMLESS)
"""Tools of OpenCode itself: all others have the name of their MCP server before their own."""
_WRITES = ("edit", "multiedit", "write")
_READS = {"read": "filePath", "glob": "path", "grep": "path", "list": "path", "lsp": "filePath"}


def arguments(tool: str, given: Mapping[str, Any], cwd: str) -> CallArguments:
    """What a call runs, reads and writes."""
    command = given.get("command")
    writes = paths(given.get("filePath"), cwd) if tool in _WRITES else ()
    if tool in ("apply_patch", "patch"):
        writes = tuple(absolute(path, cwd) for path in patched_files(given.get("patchText")))
    return {
        "runs": command if tool == "bash" and isinstance(command, str) else None,
        "reads": paths(given.get(_READS[tool]), cwd) if tool in _READS else (),
        "writes": writes,
    }


def aliases(tool: str) -> tuple[str, ...]:
    """The other names of a tool. A workflow may use any of them."""
    if tool in _OWN:
        return other_names(tool, _NAMES.get(tool, ()))
    return foreign_aliases(tool)


def foreign_aliases(tool: str) -> tuple[str, ...]:
    """The other names of a tool of an MCP server: both the server and its tool may have underscores in their names."""
    return joined_aliases(tool, "_")


TOOLS = (
    "apply_patch", "bash", "edit", "glob", "grep", "question", "read", "skill", "task", "todowrite", "webfetch",
    "websearch", "write",
)  # fmt: skip
FORMER_TOOLS = (
    "codesearch", "execute", "list", "lsp", "multiedit", "patch", "plan_enter", "plan_exit", "todoread",
)  # fmt: skip
"""Tools of other versions, and tools that are there only if a setting turns them on."""
