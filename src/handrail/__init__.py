"""Handrail makes coding agents follow a process. Importing this package has no side effects."""

__version__ = "0.1.0"
STEP_TOOL = "workflow_step"
"""The tool that an agent calls to move through a workflow."""
SETTINGS_FILE = "settings.yaml"
"""The file with the settings of a user or of a project."""
TOOLS = ("bash", "edit", "read", "write")  # Handrail's own names of tools
