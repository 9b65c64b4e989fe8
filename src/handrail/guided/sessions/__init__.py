"""Guided sessions: a workflow that runs in an agent's conversation."""
