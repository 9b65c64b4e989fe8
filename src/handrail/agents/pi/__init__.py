"""pi: how it calls Handrail, how Handrail calls it, its workflow folder, and sessions of pi-workflows."""
