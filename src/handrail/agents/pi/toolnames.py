"""The tools of pi by name, measured with 0.74.2, 0.87.1 and 1.5.0. Used to check workflows, never by a hook."""

from __future__ import annotations

TOOLS = ("bash", "edit", "find", "grep", "ls", "powershell", "read", "write")
FORMER_TOOLS = (
    "codemode", "list_mcp_resource_templates", "list_mcp_resources", "read_mcp_resource", "tool_search",
    "delegate_to_subagents", "subagent", "task",
)  # fmt: skip
"""Tools of the newest version, and tools for subagents, which extensions add. A list may name them."""
