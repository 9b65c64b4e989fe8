"""The tools of Claude Code by name, measured with version 2.1.325. Used to check workflows, never by a hook."""

from __future__ import annotations

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
