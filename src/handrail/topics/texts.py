"""Texts of rows: cleaned, and as long as a column or a page can use. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

from handrail.source.clean import clean

SHORT, LONG, SUMMARY = 200, 500, 8_000
_CALL = re.compile(
    r'(?P<tool>\S{1,80}) \{.*?"(?:command|cmd|path|file_path|filePath|file|pattern|query|url)": ?'
    r'"(?P<about>(?:[^"\\]|\\.)*)',
    re.DOTALL,
)
"""A call of a tool as the journal has it: its name and its arguments as JSON, which may be cut."""


def short(text: str) -> str:
    """One line for a column."""
    return clean(" ".join(text.split()))[:SHORT]


def called(text: str) -> str:
    """A call of a tool in a few words, such as `edit src/cart.py`. A text that is no such call stays as it is."""
    found = _CALL.match(text)
    if found is None:
        return text
    try:
        about = json.loads(f'"{found["about"]}"', strict=False)
    except ValueError:  # it was cut in the middle of a character
        about = found["about"]
    return f"{found['tool']} {about}"


def long(text: str) -> str:
    """One line for a reason."""
    return clean(" ".join(text.split()))[:LONG]


def page(text: str) -> str:
    """A summary: several lines, cut so that it has at most `SUMMARY` bytes."""
    return clean(text).encode("utf-8", "replace")[:SUMMARY].decode("utf-8", "ignore")


def cleaned(value: Any, kept: tuple[str, ...] = ()) -> Any:
    """A value with all its texts cleaned, including the keys of objects. `kept` are keys whose values stay."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): one if key in kept else cleaned(one, kept) for key, one in value.items()}
    return [cleaned(one, kept) for one in value] if isinstance(value, list | tuple) else value


def why(code: str, message: str) -> dict[str, str]:
    return {"code": code, "message": long(message)}
