"""One package per agent: `executor` calls it, `host` answers its calls, `tools` maps the names of its tools."""
