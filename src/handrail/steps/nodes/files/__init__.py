"""Nodes that read, write and check files of the project, and summaries in files."""
