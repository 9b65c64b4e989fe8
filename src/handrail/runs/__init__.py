"""A flow happening."""
