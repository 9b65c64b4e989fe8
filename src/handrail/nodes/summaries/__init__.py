"""Nodes that read and write short summaries."""
