"""Agents that speak the Agent Client Protocol (ACP). Handrail is their client: it prompts and answers."""
