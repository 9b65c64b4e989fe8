"""Reads files that people write: text → trees with positions → checked values. Every problem has a place."""
