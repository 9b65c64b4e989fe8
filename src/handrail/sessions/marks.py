"""Small files beside a session's journal that say what happened since the last move. Not part of the truth.

Losing one is harmless: an agent is told something twice, or is sent on once more. Standard library only.
"""

from __future__ import annotations

import os

PROGRESS = "progress"
"""The agent did something since it was last sent on."""
TURN = "turn"
"""A turn began and has not come to a stop yet."""
PAUSED = "paused"
"""A person interrupted the agent and has said nothing since."""
SHOWN = "shown"
"""What the agent was told last, and as the result of which call."""


def is_set(folder: str, name: str) -> bool:
    return os.path.exists(os.path.join(folder, name))


def set_mark(folder: str, name: str) -> None:
    _write(folder, name, "")


def clear(folder: str, name: str) -> None:
    try:
        os.unlink(os.path.join(folder, name))
    except OSError:
        return


def shown(folder: str) -> tuple[str, str]:
    """(what the agent was told last, the call that told it); empty texts if nothing is known."""
    try:
        with open(os.path.join(folder, SHOWN), encoding="utf-8") as file:
            told, _, call = file.read().partition("\n")
    except (OSError, ValueError):
        return "", ""
    return told, call


def remember(folder: str, told: str, call: str = "") -> None:
    """Note what the agent was told. If that fails, it is told twice."""
    _write(folder, SHOWN, f"{told}\n{call}" if call else told)


def _write(folder: str, name: str, text: str) -> None:
    try:
        handle = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        return
