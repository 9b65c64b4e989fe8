"""Gemini CLI: how we call it."""
