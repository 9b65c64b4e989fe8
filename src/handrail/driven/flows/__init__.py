"""What a flow says: file → plan."""
