"""The summaries of an agent's last phases, each with a limited length: they are part of every card. Pure."""

from __future__ import annotations

MOST = 3
LONGEST = 2_000
"""How many characters of a summary are kept."""
_CUT = "… [cut by Handrail: {} characters are too many]"

Summaries = tuple[tuple[str, str], ...]


def shortened(summary: str) -> str:
    """The summary, cut to at most `LONGEST` characters. A cut summary ends with a mark."""
    if len(summary) <= LONGEST:
        return summary
    note = _CUT.format(f"{len(summary):,}")
    return summary[: LONGEST - len(note)] + note


def is_cut(summary: str) -> bool:
    start, _, end = _CUT.partition("{}")
    return summary.endswith(end) and start in summary[-80:]


def remembered(known: Summaries, phase: str, summary: str) -> Summaries:
    """The last summaries after one more phase. A phase without a summary adds none."""
    return (*known, (phase, shortened(summary)))[-MOST:] if summary else known
