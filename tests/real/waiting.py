"""Waiting for something to become true. The limits are for what never comes; nothing that works comes near them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

LONG = 180.0


def said(file: Path) -> str:
    """What a program has written into a file; empty if there is nothing yet."""
    return file.read_text().strip() if file.exists() else ""


def until(holds: Callable[[], object], what: str | Callable[[], str]) -> None:
    """Look again and again; fail with what was waited for if it takes too long."""
    deadline = time.monotonic() + LONG
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain for {what if isinstance(what, str) else what()}")
        time.sleep(0.02)
