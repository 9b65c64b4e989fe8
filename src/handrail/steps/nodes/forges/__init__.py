"""Nodes about issues, pull requests and merge requests of GitHub and GitLab."""
