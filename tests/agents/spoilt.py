"""Sample lines with one changed value each: programs change, and readers must not fail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

JUNK: tuple[Any, ...] = (None, 5, "x", True, [None, 5], {"a": None})


def spoilt(samples: Path) -> Iterator[dict[str, Any]]:
    """Every kind of line in a folder of samples, with each of its values replaced in turn."""
    seen: set[str] = set()
    for path in sorted(samples.glob("*.jsonl")):
        for line in map(json.loads, path.read_text().splitlines()):
            if line["type"] not in seen:
                seen.add(line["type"])
                yield from (put for put in _variants(line) if put.get("type") == line["type"])


def _variants(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from ({**value, name: junk} for junk in JUNK)
            yield from ({**value, name: variant} for variant in _variants(inner))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from ([*value[:place], junk, *value[place + 1 :]] for junk in JUNK)
            yield from ([*value[:place], variant, *value[place + 1 :]] for variant in _variants(inner))
