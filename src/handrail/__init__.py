"""Handrail holds coding agents to a process. Importing this package does nothing."""

__version__ = "0.1.0"
STEP_TOOL = "workflow_step"
"""The tool by which an agent moves through a workflow."""
