"""One folder per agent: `host` answers its calls, `executor` calls it, `tools` maps the names of its tools."""
