"""Measures what Handrail costs, always against something else in the same run. `python -m bench`."""
