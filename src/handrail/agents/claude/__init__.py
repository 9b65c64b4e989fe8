"""Claude Code: the names of its tools, the format of its hooks, the place of its stubs."""
