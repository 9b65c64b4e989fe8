"""Claude Code: what its tools are called, how its hooks speak, where its stubs go."""
