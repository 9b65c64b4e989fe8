"""Nodes for reviews and plans of AgentWeaver: what their files say, and what follows from it."""
