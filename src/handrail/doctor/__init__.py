"""What is wrong with this machine, and what an installed agent really enforces: `handrail doctor`."""
