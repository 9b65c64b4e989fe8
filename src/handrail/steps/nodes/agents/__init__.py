"""Nodes that give work to an agent."""
