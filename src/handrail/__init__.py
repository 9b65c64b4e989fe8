"""Handrail makes coding agents follow a process. Importing this package has no side effects."""

__version__ = "0.1.0"
STEP_TOOL = "workflow_step"
"""The tool that an agent calls to move through a workflow."""
SETTINGS_FILE = "settings.yaml"
"""The file with the settings of a user or of a project."""
FOR_ONE_CALL = "HANDRAIL_FOR_ONE_CALL"
"""Stubs that are made for one call of an agent set this variable to the conversation that they belong to."""
NAMED_AGENT = "acp"
"""The agent with names of its own: `acp:NAME`. The settings of the user say which program each name means."""
TOOLS = ("bash", "edit", "read", "write")  # Handrail's own names of tools
CANCEL_POLICIES = ("agent", "ask", "person")
"""Who may cancel a workflow, the loosest first. `settings/sections.py` says what each means."""


def strictest_policy(*policies: str) -> str:
    """The strictest of these policies of `cancel`; empty if none of them is one."""
    return next((policy for policy in reversed(CANCEL_POLICIES) if policy in policies), "")
