"""Starts other programs, reads their output, and kills them together with their child processes."""
