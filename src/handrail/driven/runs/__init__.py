"""Runs: a flow that is executed. What a run may do, how its steps are interpreted, and what happened in it."""
