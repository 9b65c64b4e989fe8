"""The checks of `handrail doctor`, by what they look at. `doctor/examination.py` has a row for each."""
