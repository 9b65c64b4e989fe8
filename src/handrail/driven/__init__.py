"""Driven mode: a flow that Handrail runs itself."""
