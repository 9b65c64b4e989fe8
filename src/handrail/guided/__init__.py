"""Guided mode: a workflow that an agent follows inside its own session."""
