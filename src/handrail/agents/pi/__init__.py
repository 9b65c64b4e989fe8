"""pi as an executor, its workflow folders, and sessions of pi-workflows."""
