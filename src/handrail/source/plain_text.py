"""Text for people: safe for a terminal, in one line, with plurals, quoted for a shell. Pure.

Imports almost nothing, because every command uses it.
"""

JOINER, _WIDE_SPACE = "\u200d", "\u3000"


def plain(text: str) -> str:
    """The text with control characters and invisible characters replaced by visible ones."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or _is_harmless(text, at) else _visible(char) for at, char in enumerate(text)
    )


def plain_lines(text: str) -> str:
    """Like `plain`, but keeps line breaks."""
    return "\n".join(map(plain, text.split("\n")))


def joined_lines(text: str) -> str:
    """The text in one line: line breaks and the spaces around them become one space. Other spaces stay."""
    return " ".join(line for line in map(str.strip, text.splitlines()) if line)


def one_line(text: str) -> str:
    """The text in one line, without characters that control a terminal."""
    return plain(joined_lines(text))


def counted(number: float, noun: str) -> str:
    """`1 phase`, `2 phases`, `1.5 seconds`, `no phases`. The one place that forms plurals."""
    text = f"{number:g}" if number % 1 else int(number) or "no"
    return f"{text} {noun}{'' if number == 1 else 's'}"


def caller_words(by: str | None) -> str:
    """Who did something, as journals record it: `a person`, `a script`, `the agent NAME`, `run r-1`; may be empty."""
    kind, _, name = (by or "").partition(":")
    words = {"person": "a person", "script": "a script", "agent": f"the agent {name}", "run": f"run {name}"}
    words |= {"terminal": "the person at the terminal", "signal": f"a signal ({name})"}
    return words.get(kind, "")


def some(names: list[str] | tuple[str, ...], most: int = 8) -> str:
    """The first of these names in one line. `…` says that there are more."""
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def command_line(*words: str) -> str:
    """A command as a person types it in a shell, quoted where needed."""
    import shlex  # imports `re`

    return shlex.join(words)


def _is_harmless(text: str, at: int) -> bool:
    """True if the character at this place, which Python does not call printable, controls nothing."""
    import unicodedata

    char = text[at]
    if char == JOINER:  # joins emoji; invisible in any other place
        return at + 1 < len(text) and unicodedata.category(text[at + 1]) == "So"
    return char == _WIDE_SPACE or unicodedata.category(char) in ("Cn", "Co")


def _visible(char: str) -> str:
    if char == "\t":
        return "    "
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\N{OPEN BOX}" if char.isspace() and code > 0x9F else "\N{REPLACEMENT CHARACTER}"
