"""OpenCode as an executor, through its own server, which `driver` starts for one turn."""
