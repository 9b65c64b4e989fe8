"""Nodes about forms: some make the form of a later step from a file, others ask a person."""
