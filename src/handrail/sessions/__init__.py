"""A workflow happening in an agent's conversation."""
