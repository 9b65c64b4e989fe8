"""Nodes that need a yes: `propose` for something that changes the outside, `approve` for any other question."""
