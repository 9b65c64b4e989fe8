"""Definitions, prompts and scripts that are part of the package: data, no code."""
