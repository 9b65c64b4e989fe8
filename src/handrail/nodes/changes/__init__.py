"""Nodes about a pull request of GitHub or a merge request of GitLab: its address says which."""
