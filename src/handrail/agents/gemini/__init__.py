"""Gemini CLI: how it calls Handrail, and how Handrail calls it."""
