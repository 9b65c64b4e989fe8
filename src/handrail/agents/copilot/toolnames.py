"""The tools of Copilot CLI by name, measured with version 1.0.102. Used to check workflows, never by a hook."""

from __future__ import annotations

TOOLS = (
    "apply_patch", "ask_user", "bash", "create", "edit", "exit_plan_mode", "fetch_copilot_cli_documentation", "glob",
    "grep", "list_agents", "list_bash", "read_agent", "read_bash", "session_store_sql", "skill", "sql", "stop_bash",
    "store_memory", "task", "task_complete", "tool_search", "view", "web_fetch", "web_search", "write_agent",
)  # fmt: skip
FORMER_TOOLS = (
    "list_powershell", "powershell", "read_powershell", "stop_powershell", "str_replace_editor", "write_bash",
    "write_powershell",
)  # fmt: skip
"""Tools of other versions and systems. A list may name them, but they are not there."""
