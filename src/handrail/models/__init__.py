"""Scripted models on loopback, one module per protocol: an agent runs offline against them. Standard library only."""
