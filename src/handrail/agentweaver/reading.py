"""Reads JSON files of AgentWeaver: regular files only, with limits. What does not fit is a reason, not an exception."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from handrail.source.nesting import MAX_NESTING, is_too_deep
from handrail.state.regular import Unreadable, read_regular

FOLDER = ".agentweaver"
SCOPES = os.path.join(FOLDER, "scopes")
INNER = ".artifacts"
ARCHIVES = "restart-archives"
MAX_BYTES = 64 * 1024 * 1024
MAX_ENTRIES = 20_000
"""How many files of one folder are looked at."""


class Broken(Exception):
    """A file cannot be used. The message says why, without its path: "is not JSON"."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def read_object(path: str, most: int = MAX_BYTES) -> dict[str, Any]:
    """The JSON object in a file. Raises `Broken`."""
    try:
        data = json.loads(read_regular(path, most).decode("utf-8"))
    except Unreadable as error:
        raise Broken(error.message) from error
    except UnicodeDecodeError as error:
        raise Broken("is not UTF-8") from error
    except RecursionError as error:
        raise Broken("is nested too deeply") from error
    except ValueError as error:
        raise Broken("is not JSON") from error
    if not isinstance(data, dict):
        raise Broken("is not a JSON object")
    if is_too_deep(data):
        raise Broken(f"is nested more than {MAX_NESTING} levels deep")
    return data


def entries(folder: str) -> list[os.DirEntry[str]]:
    """What is in a folder, by name. Empty if there is no folder, or if it is a link. At most `MAX_ENTRIES`."""
    if os.path.islink(folder):
        return []
    try:
        with os.scandir(folder) as found:
            return sorted((entry for entry, _ in zip(found, range(MAX_ENTRIES), strict=False)), key=lambda e: e.name)
    except OSError:
        return []


def files_below(folder: str, *, without: tuple[str, ...] = ()) -> Iterator[os.DirEntry[str]]:
    """The regular files in a folder and below. Links are not followed. `without` are names of folders to leave out."""
    waiting, left = [folder], MAX_ENTRIES
    while waiting:
        for entry in entries(waiting.pop()):
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in without:
                    waiting.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                left -= 1
                if left < 0:
                    return
                yield entry


def text_of(data: dict[str, Any], name: str) -> str | None:
    """A member that is text; None if it is missing or something else."""
    value = data.get(name)
    return value if isinstance(value, str) and value else None


def object_of(data: dict[str, Any], name: str) -> dict[str, Any]:
    """A member that is an object; empty if it is missing or something else."""
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def objects_of(data: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects in a member that is a list."""
    value = data.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def moment_of(data: dict[str, Any], name: str) -> float | None:
    """A member that is a point in time, in seconds; None if it is none."""
    try:
        found = datetime.fromisoformat(data[name])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    found = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    try:
        return found.timestamp()
    except (OverflowError, OSError, ValueError):
        return None
