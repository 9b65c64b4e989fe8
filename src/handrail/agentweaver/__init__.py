"""Reads what AgentWeaver leaves on the disk: states of flows, manifests, routing. Never writes, and trusts nothing."""
