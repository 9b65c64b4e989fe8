"""Problems in files that somebody wrote: where, what was expected, what was found, what to do. Pure.

Drawing happens here and nowhere else: as text with a caret, as JSON, as GitHub annotations.
"""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

Severity = Literal["error", "warning"]


class Diagnostic(NamedTuple):
    """One located problem. Lines and columns count from 1."""

    code: str
    severity: Severity
    file: str
    line: int
    column: int
    message: str
    hint: str | None = None
    excerpt: str | None = None
    width: int = 1

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "severity": self.severity,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "hint": self.hint,
        }


def in_order(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sorted by place, each problem once."""
    return sorted(set(found), key=lambda d: (d.file, d.line, d.column, d.code, d.message))


def has_errors(found: Iterable[Diagnostic]) -> bool:
    return any(d.severity == "error" for d in found)


def plain(text: str) -> str:
    """Text from a file made safe for a terminal: control characters become visible."""
    return "".join(c if c.isprintable() or c == " " else _visible(c) for c in text)


def _visible(char: str) -> str:
    if char == "\t":
        return "    "
    code = ord(char)
    return chr(0x2400 + code) if code < 0x20 else "\N{REPLACEMENT CHARACTER}"


def _columns(text: str) -> int:
    """How many terminal columns the text takes, near enough: wide signs count two, joiners none."""
    import unicodedata

    total = 0
    for char in text:
        if unicodedata.combining(char) or char in "\u200d\ufe0f":
            continue
        total += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return total


def as_text(diagnostic: Diagnostic) -> str:
    """The problem as a person reads it, with the line and a caret under the place."""
    d = diagnostic
    head = f"{plain(d.file)}:{d.line}:{d.column}: {d.severity}[{d.code}]: {plain(d.message)}"
    lines = [head]
    if d.excerpt is not None:
        number = str(d.line)
        offset = max(0, d.column - 61)
        shown = d.excerpt[offset : offset + 120]
        before = plain(shown[: d.column - 1 - offset])
        marked = plain(shown[d.column - 1 - offset : d.column - 1 - offset + d.width])
        lines.append(f" {number} | {plain(shown)}")
        lines.append(f" {' ' * len(number)} | {' ' * _columns(before)}{'^' * max(1, _columns(marked))}")
    if d.hint:
        lines.append(f"   hint: {plain(d.hint)}")
    return "\n".join(lines)


def as_github(diagnostic: Diagnostic) -> str:
    """The problem as an annotation command of GitHub Actions."""
    d = diagnostic
    message = d.message if d.hint is None else f"{d.message}; {d.hint}"
    place = f"file={_property(d.file)},line={d.line},col={d.column},title={_property(d.code)}"
    return f"::{d.severity} {place}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def summary(found: list[Diagnostic]) -> str:
    """`2 errors, 1 warning`, or that there is nothing to say."""
    errors = sum(d.severity == "error" for d in found)
    warnings = len(found) - errors
    parts = [_count(errors, "error"), _count(warnings, "warning")]
    return ", ".join(part for part in parts if part) or "no problems"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}" if number else ""
