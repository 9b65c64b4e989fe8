"""How deep data may be nested. Everything that walks through values is recursive, so this is checked where data enter.

Pure.
"""

from __future__ import annotations

from typing import Any

MAX_NESTING = 100


def is_too_deep(value: Any) -> bool:
    """True if lists and objects are nested deeper than `MAX_NESTING`. Not recursive itself."""
    level = [value]
    for _ in range(MAX_NESTING + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True
