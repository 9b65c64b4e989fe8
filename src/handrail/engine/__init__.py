"""The only place where things happen: journals, sessions, processes."""
