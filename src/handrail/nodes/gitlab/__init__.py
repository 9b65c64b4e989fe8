"""Nodes that read merge requests of GitLab."""
