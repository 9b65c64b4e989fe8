"""Texts of rows: cleaned, and as long as a column or a page can use. Pure."""

from __future__ import annotations

from typing import Any

from handrail.source.clean import clean

SHORT, LONG, SUMMARY = 200, 500, 8_000


def short(text: str) -> str:
    """One line for a column."""
    return clean(" ".join(text.split()))[:SHORT]


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
