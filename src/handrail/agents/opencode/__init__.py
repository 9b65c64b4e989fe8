"""OpenCode: called by flows through its own server, which `driver` starts for one turn."""
