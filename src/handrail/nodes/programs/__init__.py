"""Nodes that look for programs, run checks, and explain their failures."""
