"""A message to people on one or several channels."""
