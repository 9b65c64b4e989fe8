"""Codex as an executor."""
