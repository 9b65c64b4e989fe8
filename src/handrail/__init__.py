"""Handrail holds coding agents to a process. Importing this package does nothing."""

__version__ = "0.1.0"
