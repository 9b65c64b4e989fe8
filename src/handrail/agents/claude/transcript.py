"""Finds a queued cancel or an interrupt in Claude Code's transcript of a conversation.

Reads only the end of the file and ignores lines that are not complete JSON. Standard library only.
"""

from __future__ import annotations

import os

from handrail.base import jsonlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TAIL = 262_144
_CANCEL = (["/cancel-workflow"], ["/handrail:cancel-workflow"], ["cancel-workflow"], ["handrail:cancel-workflow"])


def tail(path: str | None) -> list[dict[str, Any]]:
    """The last entries of a transcript, oldest first; empty if it cannot be read."""
    if not path:
        return []
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - TAIL))
            lines = file.read().split(b"\n")
    except OSError:
        return []
    entries = []
    for line in lines:
        try:
            entry = jsonlite.loads(line.decode())
        except ValueError:
            continue
        if isinstance(entry, dict):
            entries.append(entry)
    return entries


def has_queued_cancel(entries: list[dict[str, Any]]) -> bool:
    """True if a person typed the cancel command while the agent was working, and it is still queued."""
    waiting: list[str] = []
    for entry in entries:
        if entry.get("type") != "queue-operation":
            continue
        content = str(entry.get("content") or "")
        if entry.get("operation") == "enqueue":
            waiting.append(content)
        elif waiting:
            waiting.pop(waiting.index(content) if content in waiting else 0)
    return any(text.split(None, 1)[:1] in _CANCEL for text in waiting)


def was_interrupted(entries: list[dict[str, Any]]) -> bool:
    """True if a person interrupted the agent and has not written a prompt since."""
    for entry in reversed(entries):
        if entry.get("type") != "user" or entry.get("isMeta") or entry.get("isSidechain"):
            continue
        text = _text(entry)
        if text.startswith("[Request interrupted by user"):
            return True
        if text and (not text.startswith("<") or text.startswith("<command-")):
            return False
    return False


def _text(entry: dict[str, Any]) -> str:
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else message
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "".join(str(b.get("text", "")) for b in blocks if isinstance(b, dict) and b.get("type") == "text")
