"""Runs of flows, below the surfaces and above the engine: begin, go on, restart, answer, stop, show."""
