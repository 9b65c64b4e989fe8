"""Runs an agent offline against a scripted model on loopback. Standard library only."""
