"""Definitions, prompts and scripts that are shipped: data, no code."""
