"""Gemini CLI as an executor."""
