"""Git worktrees of runs: how they are planned, made, prepared, merged and removed, and what a kill leaves."""
