"""Runs, sessions and definitions as lines, words and JSON for a terminal. Pure."""
