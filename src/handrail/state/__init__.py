"""Handrail's state on disk: journals, files, locks and JSON. Standard library only."""
