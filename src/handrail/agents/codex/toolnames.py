"""The tools of Codex by name, measured with version 0.166.0. Used to check workflows, never by a hook."""

from __future__ import annotations

TOOLS = (
    "Bash", "apply_patch", "create_goal", "exec_command", "followup_task", "get_goal", "interrupt_agent", "list_agents",
    "list_mcp_resource_templates", "list_mcp_resources", "read_mcp_resource", "request_user_input",
    "request_user_input_async", "send_message", "sleep", "spawn_agent", "update_goal", "view_image", "wait",
    "wait_agent", "write_stdin",
)  # fmt: skip
FORMER_TOOLS = ("resume_agent", "send_input", "shell", "spawn_agents_on_csv", "update_plan", "web_search")
"""Tools of other versions, and one that runs in the model's service, where no hook sees it."""
