"""The scopes of a project: what exists for a task, what is stale, and the archive of what is reset."""
