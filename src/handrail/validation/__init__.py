"""What `handrail validate` checks: a whole project, or everything at some paths."""
