"""Whether everything is in working order, and what an agent really enforces: `handrail doctor`."""
