"""Nodes that use git: what changed, and a commit."""
