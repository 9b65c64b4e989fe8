"""Text from files and agents made safe for a terminal. Pure; imports next to nothing, since every command prints."""

JOINER, _WIDE_SPACE = "\u200d", "\u3000"


def plain(text: str) -> str:
    """Text from a file made safe for a terminal: whatever steers a terminal, or cannot be seen, becomes visible."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if _is_harmless(text, at) else _visible(char) for at, char in enumerate(text))


def plain_lines(text: str) -> str:
    """The same for a text of several lines."""
    return "\n".join(map(plain, text.split("\n")))


def _is_harmless(text: str, at: int) -> bool:
    import unicodedata

    char = text[at]
    if char == JOINER:  # part of many emoji, and invisible anywhere else
        return at + 1 < len(text) and unicodedata.category(text[at + 1]) == "So"
    return char.isprintable() or char == _WIDE_SPACE or unicodedata.category(char) in ("Cn", "Co")


def _visible(char: str) -> str:
    if char == "\t":
        return "    "
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\N{OPEN BOX}" if char.isspace() and code > 0x9F else "\N{REPLACEMENT CHARACTER}"
