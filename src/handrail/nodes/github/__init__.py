"""Nodes that read issues and pull requests of GitHub, and one that writes a comment."""
