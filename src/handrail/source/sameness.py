"""Is a text the same as before, apart from what differs each time a program runs? Pure.

Times, durations, addresses in memory, ids, temporary folders, processes, ports and random seeds are replaced. All other
numbers stay: `3 failed` and `2 failed` are different.
"""

from __future__ import annotations

import re

_MARKS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), mark)
    for pattern, mark in (
        (r"\x1b\[[0-9;?]*[A-Za-z]", ""),  # colours
        (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?", "<time>"),
        (r"\b\d{4}[-/]\d\d[-/]\d\d\b", "<time>"),
        (r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b", "<time>"),
        (r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b", "<id>"),
        (r"\b0x[0-9a-fA-F]+\b", "<address>"),
        (r"((?:/private)?/(?:var/)?tmp)/[^/\s'\":;,)]+", r"\1/<folder>"),
        (r"/var/folders/[^/\s]+/[^/\s]+/T/[^/\s'\":;,)]+", "/var/folders/<folder>"),
        (r"\bpytest-\d+\b", "pytest-<number>"),
        (r"(?i)\b(pid|process|seed|port)([ =:#]+)\d+\b", r"\1\2<number>"),
        (r"\b(localhost|127\.0\.0\.1|\[::1\]):\d+\b", r"\1:<port>"),
        (r"\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|sec|secs|seconds?|m|min|mins|minutes?)\b", "<duration>"),
        (r"[ \t]+$", ""),
    )
)


def without_chance(text: str) -> str:
    """The text with a mark in place of everything that differs from run to run."""
    for pattern, mark in _MARKS:
        text = pattern.sub(mark, text)
    return text.strip()
