"""Reads workflow definitions: files → spec → plan."""
