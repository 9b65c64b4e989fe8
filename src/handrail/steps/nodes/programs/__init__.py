"""Nodes that look for programs, run them, and run the checks of a project."""
