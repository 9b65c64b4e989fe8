"""Nodes that read issues and merge requests of GitLab, and comment on them."""
