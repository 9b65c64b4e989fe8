"""A problem in a file: its place, its message and a hint. Pure.

This is the only module that formats problems: as text with a caret, as JSON, as GitHub annotations.
"""

from __future__ import annotations

from handrail.base.record import Record
from handrail.source.plain_text import JOINER, counted, plain, some

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Any, Literal

    Severity = Literal["error", "warning", "note"]
else:
    Severity = str  # importing `typing` takes a sixth of the time that Python takes to start

_EMOJI_STYLE = "\ufe0f"
_SHOWN = 120


class Diagnostic(Record):
    """One located problem. Lines and columns count from 1.

    A note says that a definition cannot be used because another one has errors; `cause` is the file of the other one.
    """

    code: str
    severity: Severity
    file: str
    line: int
    column: int
    message: str
    hint: str | None = None
    excerpt: str | None = None
    width: int = 1
    cause: str | None = None

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


def file_problem(
    code: str, file: str, message: str, hint: str | None = None, severity: Severity = "error"
) -> Diagnostic:
    """A problem that concerns a whole file or folder."""
    return Diagnostic(code, severity, file, 1, 1, message, hint)


def _encodable(text: str) -> str:
    """The text with lone surrogates replaced: file names can contain them, and UTF-8 streams reject them."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def sorted_problems(problems: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The problems sorted by place, without duplicates."""
    return sorted(set(problems), key=lambda d: (d.file, d.line, d.column, d.code, d.message))


def has_errors(problems: Iterable[Diagnostic]) -> bool:
    return any(d.severity == "error" for d in problems)


def is_usable(problems: Iterable[Diagnostic]) -> bool:
    """True if a definition with these problems can be used: it has no errors, and neither has what it uses."""
    return all(d.severity == "warning" for d in problems)


def errors_behind(file: str, pool: Collection[Diagnostic]) -> list[Diagnostic]:
    """The errors of a definition, by its file, and of everything that it uses, among all problems."""
    errors: dict[Diagnostic, None] = {}
    files = [file]
    for one in files:
        for problem in (d for d in pool if d.file == one or d.file.startswith(_folder_of(one))):
            if problem.severity == "error":
                errors[problem] = None
            elif problem.cause is not None and problem.cause not in files:
                files.append(problem.cause)
    return list(errors)


def _folder_of(file: str) -> str:
    """The folder whose files all belong to a workflow. A flow is only its file."""
    folder, slash, name = file.rpartition("/")
    return folder + slash if name == "workflow.yaml" else file + "/"


def blame(file: str, pool: Collection[Diagnostic]) -> tuple[str, tuple[Diagnostic, ...]]:
    """Which files have errors, so that a definition cannot be used: `x.yaml` has 2 errors. And these errors."""
    errors = tuple(errors_behind(file, pool))
    files = list(dict.fromkeys(f"`{problem.file}`" for problem in errors))
    if len(files) == 1:
        return f"{files[0]} has {counted(len(errors), 'error')}", errors
    return f"{some(files, 3)} have errors" if files else f"`{file}` has errors", errors


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


def diagnostic_text(diagnostic: Diagnostic) -> str:
    """The problem as text for people, with the source line and a caret under the place."""
    d = diagnostic
    head = f"{plain(d.file)}:{d.line}:{d.column}: {d.severity}[{d.code}]: {_shortened(plain(d.message))}"
    lines = [head]
    if d.excerpt is not None:
        number = str(d.line)
        excerpt, left, place = _excerpt(d.excerpt, d.column - 1, d.width)
        lines.append(f" {number} | {excerpt}".rstrip())
        lines.append(f" {' ' * len(number)} | {' ' * _columns(left)}{'^' * max(1, _columns(place))}")
    if d.hint:
        lines.append(f"   hint: {_shortened(plain(d.hint))}")
    return "\n".join(lines)


def _excerpt(line: str, at: int, width: int) -> tuple[str, str, str]:
    """(the shown part of a line, the part before the place, the place itself), each safe for a terminal."""
    start = 0 if len(line) <= _SHOWN else max(0, at - _SHOWN // 2)
    end = start + _SHOWN
    left, right = "…" if start else "", "…" if end < len(line) else ""
    excerpt = f"{left}{plain(line[start:end])}{right}"
    return excerpt, left + plain(line[start:at]), plain(line[at : min(at + width, end)])


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
    kind = "notice" if d.severity == "note" else d.severity
    return f"::{kind} {place}::{_data(_shortened(message))}"


def _data(text: str) -> str:
    return plain(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def summary(problems: list[Diagnostic]) -> str:
    """The number of problems: `2 errors, 1 warning` or `no problems`. Notes are not problems of their own."""
    errors, warnings = (sum(d.severity == severity for d in problems) for severity in ("error", "warning"))
    parts = [counted(number, noun) for number, noun in ((errors, "error"), (warnings, "warning")) if number]
    return ", ".join(parts) or "no problems"
