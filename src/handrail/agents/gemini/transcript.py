"""Finds an interrupt or a copy in Gemini CLI's records of conversations. Standard library only.

A record is a file of JSON lines. Each begins with its id, its time and its type, so the lines are not parsed: some of
them contain the whole history.
"""

from __future__ import annotations

import os

_HEAD = 200
_CANCELLED = b'"type":"info","content":"Request cancelled.'


def was_interrupted(path: str | None) -> bool:
    """True if the turn has no answer of the model at its end: a person interrupted it, or the service failed."""
    for line in reversed(_lines(path)):
        head = line[:_HEAD]
        if _CANCELLED in head or b'"type":"user"' in head:
            return True
        if b'"type":"gemini"' in head:
            return False
    return False


def _lines(path: str | None) -> list[bytes]:
    """The lines that are records of their own; empty if the file cannot be read."""
    try:
        with open(path or "", "rb") as file:
            return [line for line in file.read().split(b"\n") if not line.startswith(b'{"$set"')]
    except OSError:
        return []


def copy_of(path: str | None, conversation: str) -> str | None:
    """The record of a conversation that began as a copy (`--session-file`); None if it did not.

    The copy is beside the record that Gemini CLI names at first. Its name has the time in milliseconds.
    """
    folder, end = os.path.dirname(path or ""), f"-{conversation[:8]}.jsonl"
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    for name in names:
        if name.startswith("session-") and name.endswith(end) and name[8 : -len(end)].isdigit():
            return os.path.join(folder, name)
    return None
