"""Driven mode: Handrail runs a flow itself, step by step, and calls agents, programs and services for it."""
