"""Waits until a condition is true. The timeouts are far longer than any successful wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

LONG = 180.0


def said(file: Path) -> str:
    """The content of a file; empty if it does not exist yet."""
    return file.read_text().strip() if file.exists() else ""


def until(holds: Callable[[], object], what: str | Callable[[], str]) -> None:
    """Poll until the condition is true. After the timeout, fail with the name of the condition."""
    deadline = time.monotonic() + LONG
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain for {what if isinstance(what, str) else what()}")
        time.sleep(0.02)
