"""Output of agents and programs, made harmless for a screen, or comparable with earlier output. Pure.

`plain_text` is for short texts of definitions and shows everything that it finds. Here, the escape sequences
of a terminal are removed, and only the end of an overwritten line is kept, as a person would have seen it.
To compare two outputs, what differs in each run is replaced: times, durations, addresses in memory, ids, temporary
folders, processes, ports and random seeds. All other numbers stay: `3 failed` and `2 failed` are different.
"""

from __future__ import annotations

import re
import unicodedata

MAX_LINE_LENGTH = 2_000
"""Characters of a line that are kept."""
_WHOLE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[PX^_\]][^\x1b\x07\x9c]*(?:\x1b\\|\x07|\x9c)"  # DCS, SOS, PM, APC, OSC: titles, links, the clipboard
    r"|\x1b[ -/]+[0-~]|\x1b[0-OQ-WYZ\\`-~]"  # character sets and single functions
    r"|\x9b[0-?]*[ -/]*[@-~]"
    r"|[\x90\x98\x9d-\x9f][^\x1b\x07\x90\x98\x9c-\x9f]*(?:\x1b\\|\x07|\x9c)"  # up to the next one: linear
)
_INVISIBLE = frozenset(
    [
        *(*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), *range(0xFFF9, 0xFFFC)),
        *(0x00AD, 0x061C, 0x115F, 0x1160, 0x180E, 0x3164, 0xFEFF, 0xFFA0),
    ]
)
_TAGS = range(0xE0000, 0xE1000)
_JOINER = 0x200D


def clean(text: str, most: int = MAX_LINE_LENGTH) -> str:
    """The text with its line breaks, without anything that controls a screen or hides something."""
    text = text.replace("\r\n", "\n")
    if "\x1b" in text or any("\x80" <= char <= "\x9f" for char in text):
        text = _WHOLE.sub("", text)
    return "\n".join(clean_line(line, most) for line in text.split("\n"))


def clean_line(line: str, most: int = MAX_LINE_LENGTH) -> str:
    """One line without line breaks: its last overwriting, control characters as pictures, at most so many."""
    line = line.rstrip("\r")
    if "\r" in line:
        line = line.rpartition("\r")[2]
    left_out = len(line) - most
    if left_out > 0:
        line = line[:most]
    if not (line.isascii() and line.isprintable()):
        line = "".join(_visible_char(line, at) for at in range(len(line)))
    return f"{line} … ({left_out} more characters)" if left_out > 0 else line


LAST_LINES = 40
"""How many lines of the output of a failed step are shown with the failure."""


def last_lines(output: str) -> str:
    """The last lines of an output, each cut at `MAX_LINE_LENGTH`, without blank lines at its end. Not cleaned."""
    return "\n".join(line[:MAX_LINE_LENGTH] for line in output.rstrip().split("\n")[-LAST_LINES:])


def telling_line(output: str) -> str:
    """The last line with a letter or a digit, else the last one that is not blank; empty if there is none."""
    lines = [line for line in map(str.strip, reversed(clean(output).split("\n"))) if line]
    return next((line for line in lines if any(map(str.isalnum, line))), lines[0] if lines else "")


def _visible_char(line: str, at: int) -> str:
    char = line[at]
    code = ord(char)
    if char == "\t":
        return "    "
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\N{SYMBOL FOR DELETE}"
    if code == _JOINER and 0 < at < len(line) - 1 and unicodedata.category(line[at + 1]) == "So":
        return char  # it joins two parts of an emoji, where it is not seen and hides nothing
    if code in _INVISIBLE or code in _TAGS:
        return f"⟨U+{code:04X}⟩"
    if 0x80 <= code <= 0x9F or 0xD800 <= code <= 0xDFFF:
        return "\N{REPLACEMENT CHARACTER}"
    return " " if unicodedata.category(char) in ("Zl", "Zp") else char


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


def without_variable_parts(text: str) -> str:
    """The text with a mark in place of everything that differs from run to run."""
    for pattern, mark in _MARKS:
        text = pattern.sub(mark, text)
    return text.strip()
