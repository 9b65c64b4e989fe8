"""Spans of time as people write them: `30d`, `12h`. Pure."""

from __future__ import annotations

import re

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
PATTERN = r"\s*([0-9]{1,9})([smhdw])\s*"
EXAMPLE = "a number and a unit, such as `30d`, `12h` or `2w`"


def parse_duration(text: str) -> float | None:
    """The seconds of a span of time; None if the text is not one. A number without a unit is not one."""
    found = re.fullmatch(PATTERN, text)
    return None if found is None else float(int(found[1]) * UNITS[found[2]])
