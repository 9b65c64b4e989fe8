"""Nodes that read issues of Jira."""
