"""What is kept on disk: journals, whole files, locks, and the JSON in them. Standard library only."""
