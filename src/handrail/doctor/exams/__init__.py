"""The checks of `handrail doctor`, by what they look at. `doctor/table.py` has a row for each."""
