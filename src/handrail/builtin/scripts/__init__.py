"""Checks of a project that flows run as programs. They need the standard library only."""
