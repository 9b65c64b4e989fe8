"""What a workflow says: files → spec → plan."""
