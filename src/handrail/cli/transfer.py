"""`handrail import`."""
