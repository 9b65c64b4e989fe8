"""Problems in files that somebody wrote: where, what was expected, what was found, what to do. Pure.

Drawing happens here and nowhere else: as text with a caret, as JSON, as GitHub annotations.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from handrail.source.plain import JOINER, plain

Severity = Literal["error", "warning"]

_EMOJI_STYLE = "\ufe0f"
_SHOWN = 120


@dataclass(frozen=True, kw_only=True)
class Diagnostic:
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
    """A problem of a file or a folder as a whole."""
    return Diagnostic(code=code, severity=severity, file=file, line=1, column=1, message=message, hint=hint)


def _encodable(text: str) -> str:
    """A file's name may hold bytes that are no text; no output stream takes them as they are."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def in_order(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sorted by place, each problem once."""
    return sorted(set(found), key=lambda d: (d.file, d.line, d.column, d.code, d.message))


def has_errors(found: Iterable[Diagnostic]) -> bool:
    return any(d.severity == "error" for d in found)


def _columns(text: str) -> int:
    """How many terminal columns the text takes, near enough: wide signs count two, joined ones one sign."""
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
    """A sentence that quotes something endless keeps its beginning and its end."""
    return text if len(text) <= most else f"{text[: most - 120]} … {text[-117:]}"


def as_text(diagnostic: Diagnostic) -> str:
    """The problem as a person reads it, with the line and a caret under the place."""
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
    """(what is shown of a line, the part before the place, the place itself), as they look on a terminal."""
    start = 0 if len(line) <= _SHOWN else max(0, at - _SHOWN // 2)
    end = start + _SHOWN
    left, right = "…" if start else "", "…" if end < len(line) else ""
    shown = f"{left}{plain(line[start:end])}{right}"
    return shown, left + plain(line[start:at]), plain(line[at : min(at + width, end)])


def as_github(diagnostic: Diagnostic) -> str:
    """The problem as an annotation command of GitHub Actions."""
    d = diagnostic
    message = d.message if d.hint is None else f"{d.message}; {d.hint}"
    place = f"file={_property(d.file)},line={d.line},col={d.column},title={_property(d.code)}"
    return f"::{d.severity} {place}::{_data(_shortened(message))}"


def _data(text: str) -> str:
    return plain(text).replace("%", "%25")


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
