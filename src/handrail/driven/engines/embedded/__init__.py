"""The default engine: one folder per run, on local files."""
