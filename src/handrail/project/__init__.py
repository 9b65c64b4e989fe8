"""The definitions of a project and what is done with them: validation, scopes, pruning, import, notifications."""
