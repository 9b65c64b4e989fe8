"""Guided mode: an agent follows a workflow in its own conversation, and calls Handrail."""
