"""Nodes that ask people, for a yes or with a form, and nodes that send them a message."""
