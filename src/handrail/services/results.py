"""What the results of checks have in common on every forge: one state for all of them, and bounded texts. Pure."""

from __future__ import annotations

import re
from typing import Any

from handrail.source.plain import counted

MOST_TEXTS = 20
LONGEST_TEXT = 20_000
LONGEST_SUMMARY = 4_000
LARGEST_LOG = 32 * 1024 * 1024
LEFT_OUT = ("service-missing", "service-forbidden", "service-failed", "service-large")
"""After these failures a text is left out, and the rest is fetched."""
TOO_MANY = f"The texts of more than {MOST_TEXTS} failed checks are not fetched."
_TIME = re.compile(r"^\ufeff?\d{4}-\d\d-\d\dT[\d:.]+Z ", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_CONTROL = re.compile(r"[\0-\x08\x0b-\x1f\x7f]")


def state_of(checks: list[dict[str, Any]]) -> str:
    """`failed` if one failed, else `pending` if one is not done, else `passed`; `none` if there are no checks."""
    states = {check["state"] for check in checks}
    return next((state for state in ("failed", "pending", "passed") if state in states), "none")


def summary_of(name: str, checks: list[dict[str, Any]]) -> str:
    """One line about the checks of a change, which is called `name`."""
    if not checks:
        return f"{name}: no checks"
    parts = []
    for state in ("passed", "failed", "pending"):
        count = sum(check["state"] == state for check in checks)
        parts += [f"{count} {state}"] if count else []
    return f"{name}: {counted(len(checks), 'check')}: {', '.join(parts)}"


def clean(said: str) -> str:
    """A text without times at the beginning of lines, colours and control characters."""
    lines = _TIME.sub("", said.replace("\r\n", "\n"))
    return _CONTROL.sub("", _COLOUR.sub("", lines)).strip()


def cut(said: str) -> str:
    return said if len(said) <= LONGEST_SUMMARY else f"{said[:LONGEST_SUMMARY]}…"


def tail(said: str, most: int = LONGEST_TEXT) -> str:
    """The end of a text; the first line says how much was left out."""
    left = len(said) - most
    return said if left <= 0 else f"… {left} characters before this were left out\n{said[left:]}"
