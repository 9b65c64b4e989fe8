"""Measures what Handrail costs, always compared with something else in the same run. `python -m bench`."""
