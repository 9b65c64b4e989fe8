"""The tools of OpenCode by name, measured with version 1.18.33. Used to check workflows, never by a hook."""

from __future__ import annotations

TOOLS = (
    "apply_patch", "bash", "edit", "glob", "grep", "question", "read", "skill", "task", "todowrite", "webfetch",
    "websearch", "write",
)  # fmt: skip
FORMER_TOOLS = (
    "codesearch", "execute", "list", "lsp", "multiedit", "patch", "plan_enter", "plan_exit", "todoread",
)  # fmt: skip
"""Tools of other versions, and tools that are there only if a setting turns them on."""
