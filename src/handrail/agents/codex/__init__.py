"""Codex: how we call it."""
