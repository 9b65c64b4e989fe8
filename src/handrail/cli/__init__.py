"""The command line: parses, calls `app`, prints. Holds no rules of its own."""
