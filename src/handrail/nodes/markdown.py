"""Markdown for people and agents from texts of services. Pure."""

from __future__ import annotations

import re

_MARKS = re.compile(r"`{3,}")


def fenced(text: str, language: str = "") -> str:
    """A block of code. The fence is longer than every one inside the text."""
    longest = max((len(marks) for marks in _MARKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def one_line(text: str, most: int = 0) -> str:
    """The words of a text on one line; with `most`, cut after so many characters."""
    line = " ".join(text.split())
    return line if not most or len(line) <= most else f"{line[: most - 3]}..."


def document(title: str, facts: dict[str, str], sections: list[tuple[str, str]], nothing: str) -> str:
    """A heading, a list of facts, and a section for each item; the text `nothing` if there is none."""
    head = [f"# {title}", "\n".join(f"- {name}: {value}" for name, value in facts.items())]
    parts = [f"## {heading}\n\n{body}" for heading, body in sections] or [nothing]
    return "\n\n".join([*head, *parts]) + "\n"
