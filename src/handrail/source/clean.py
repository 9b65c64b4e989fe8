"""Text from agents, programs and files, made harmless for a screen: a terminal, a page or a log. Pure.

`plain` is for short texts of definitions and shows everything that it finds. This is for output: the escape sequences
of a terminal are removed, and of a line that was overwritten only its end is kept, as a person would have seen it.
"""

from __future__ import annotations

import re
import unicodedata

MOST = 2_000
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


def clean(text: str) -> str:
    """The text with its line breaks, without anything that controls a screen or hides something."""
    text = text.replace("\r\n", "\n")
    if "\x1b" in text or any("\x80" <= char <= "\x9f" for char in text):
        text = _WHOLE.sub("", text)
    return "\n".join(clean_line(line) for line in text.split("\n"))


def clean_line(line: str) -> str:
    """One line without line breaks: its last overwriting, control characters as pictures, at most `MOST` characters."""
    line = line.rstrip("\r")
    if "\r" in line:
        line = line.rpartition("\r")[2]
    left_out = len(line) - MOST
    if left_out > 0:
        line = line[:MOST]
    if not (line.isascii() and line.isprintable()):
        line = "".join(_shown(line, at) for at in range(len(line)))
    return f"{line} … ({left_out} more characters)" if left_out > 0 else line


def _shown(line: str, at: int) -> str:
    char = line[at]
    code = ord(char)
    if char == "\t":
        return "    "
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\N{SYMBOL FOR DELETE}"
    if code == _JOINER and _joins(line, at):
        return char
    if code in _INVISIBLE or code in _TAGS:
        return f"⟨U+{code:04X}⟩"
    if 0x80 <= code <= 0x9F or 0xD800 <= code <= 0xDFFF:
        return "\N{REPLACEMENT CHARACTER}"
    return " " if unicodedata.category(char) in ("Zl", "Zp") else char


def _joins(line: str, at: int) -> bool:
    """True for a joiner between two parts of an emoji, where it is not seen and hides nothing."""
    return 0 < at < len(line) - 1 and unicodedata.category(line[at + 1]) == "So"
