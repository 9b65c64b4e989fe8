"""Engines store runs and drive them. Runs know them only by the protocol `Engine`."""
