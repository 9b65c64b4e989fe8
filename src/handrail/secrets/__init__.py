"""Secrets in environment variables: which variables hold them, and how they are kept out of files and off screens."""
