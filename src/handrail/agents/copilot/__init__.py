"""Copilot CLI as an executor."""
