"""Plugins: extensions and definitions that other people write, from installed packages and from folders."""
