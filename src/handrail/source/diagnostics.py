"""A problem in a file: its place, its message and a hint. Pure.

This is the only module that formats problems: as text with a caret, as JSON, as GitHub annotations.
"""

from __future__ import annotations

from handrail.source.plain import JOINER, counted, plain
from handrail.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Literal

    Severity = Literal["error", "warning"]
else:
    Severity = str  # importing `typing` takes a sixth of the time that Python takes to start

_EMOJI_STYLE = "\ufe0f"
_SHOWN = 120


class Diagnostic(Record):
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
            "file": _encodable(self.file),
            "line": self.line,
            "column": self.column,
            "message": _encodable(self.message),
            "hint": self.hint and _encodable(self.hint),
        }


def of_file(code: str, file: str, message: str, hint: str | None = None, severity: Severity = "error") -> Diagnostic:
    """A problem that concerns a whole file or folder."""
    return Diagnostic(code=code, severity=severity, file=file, line=1, column=1, message=message, hint=hint)


def _encodable(text: str) -> str:
    """The text with lone surrogates replaced: file names can contain them, and UTF-8 streams reject them."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def in_order(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The problems sorted by place, without duplicates."""
    return sorted(set(found), key=lambda d: (d.file, d.line, d.column, d.code, d.message))


def has_errors(found: Iterable[Diagnostic]) -> bool:
    return any(d.severity == "error" for d in found)


def _columns(text: str) -> int:
    """The approximate width in terminal columns. A wide character counts two; joined emoji count as one character."""
    import unicodedata

    total, joined = 0, False
    for char in text:
        if char == JOINER:
            joined = True
        elif unicodedata.combining(char) or char == _EMOJI_STYLE or joined:
            joined = False
        else:
            total += 2 if unicodedata.east_asian_width(char) in "WF" or "\U0001f300" <= char <= "\U0001faff" else 1
    return total


def _shortened(text: str, most: int = 300) -> str:
    """The text, cut in the middle if it is longer than `most` characters."""
    return text if len(text) <= most else f"{text[: most - 120]} … {text[-117:]}"


def as_text(diagnostic: Diagnostic) -> str:
    """The problem as text for people, with the source line and a caret under the place."""
    d = diagnostic
    head = f"{plain(d.file)}:{d.line}:{d.column}: {d.severity}[{d.code}]: {_shortened(plain(d.message))}"
    lines = [head]
    if d.excerpt is not None:
        number = str(d.line)
        shown, before, marked = _excerpt(d.excerpt, d.column - 1, d.width)
        lines.append(f" {number} | {shown}".rstrip())
        lines.append(f" {' ' * len(number)} | {' ' * _columns(before)}{'^' * max(1, _columns(marked))}")
    if d.hint:
        lines.append(f"   hint: {_shortened(plain(d.hint))}")
    return "\n".join(lines)


def _excerpt(line: str, at: int, width: int) -> tuple[str, str, str]:
    """(the shown part of a line, the part before the place, the place itself), each safe for a terminal."""
    start = 0 if len(line) <= _SHOWN else max(0, at - _SHOWN // 2)
    end = start + _SHOWN
    left, right = "…" if start else "", "…" if end < len(line) else ""
    shown = f"{left}{plain(line[start:end])}{right}"
    return shown, left + plain(line[start:at]), plain(line[at : min(at + width, end)])


def as_line(diagnostic: Diagnostic) -> str:
    """The problem on one line: `FILE:LINE:COLUMN: MESSAGE; HINT`."""
    d = diagnostic
    message = d.message if d.hint is None else f"{d.message}; {d.hint}"
    return f"{d.file}:{d.line}:{d.column}: {message}"


def as_github(diagnostic: Diagnostic) -> str:
    """The problem as a workflow command for GitHub Actions."""
    d = diagnostic
    message = d.message if d.hint is None else f"{d.message}; {d.hint}"
    place = f"file={_property(d.file)},line={d.line},col={d.column},title={_property(d.code)}"
    return f"::{d.severity} {place}::{_data(_shortened(message))}"


def _data(text: str) -> str:
    return plain(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def summary(found: list[Diagnostic]) -> str:
    """The number of problems: `2 errors, 1 warning` or `no problems`."""
    errors = sum(d.severity == "error" for d in found)
    warnings = len(found) - errors
    parts = [counted(number, noun) for number, noun in ((errors, "error"), (warnings, "warning")) if number]
    return ", ".join(parts) or "no problems"
