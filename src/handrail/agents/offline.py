"""Reads what an offline agent printed. Shared by the modules `agents/NAME/offline.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def events(output: str) -> Iterator[dict[str, Any]]:
    """The JSON objects that a program printed, one per line."""
    for line in output.splitlines():
        if line.startswith("{"):
            try:
                yield json.loads(line)
            except ValueError:  # the line was cut off
                continue


def first(output: str, name: str) -> str | None:
    """The first value of a key in the events; None if no event has it."""
    return next((str(event[name]) for event in events(output) if name in event), None)
