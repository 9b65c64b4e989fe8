"""Nodes that use git: what changed, a commit, a branch, a push, and a worktree."""
