"""Reads files that are named by data: regular files only, with a limit, and never waiting for a pipe.

A path may come from a person, an agent or a program. It may name a pipe, a device or a socket, or hold characters that
no path can have. Each of these is a reason, not a surprise.
"""

from __future__ import annotations

import os
import stat

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISCHR, "a device"),
)


class Unreadable(Exception):
    """A file was not read. The message says why, without the path: "does not exist"."""

    def __init__(self, message: str, *, is_missing: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.is_missing = is_missing


def read_regular(path: str, most: int, *, follows: bool = True) -> bytes:
    """The content of a regular file of at most `most` bytes. Raises `Unreadable`, without `follows` also for a link."""
    flaw = path_flaw(path)
    if flaw is not None:
        raise Unreadable(flaw)
    try:
        handle = os.open(path, _FLAGS if follows else _FLAGS | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise Unreadable("does not exist", is_missing=True) from error
    except OSError as error:
        is_link = not follows and os.path.islink(path)
        raise Unreadable("is a link, not a file" if is_link else _reason(path, error)) from error
    try:
        kind = other_kind(os.fstat(handle).st_mode)
        if kind is not None:
            raise Unreadable(f"is {kind}, not a file")
        with open(handle, "rb", closefd=False) as file:
            data = file.read(most + 1)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from error
    finally:
        os.close(handle)
    if len(data) > most:
        raise Unreadable(f"has more than {most} bytes")
    return data


def path_flaw(path: str) -> str | None:
    """Why no file can have this path. None if one can."""
    if "\0" in path:
        return "contains a NUL character, so it is no path"
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return "contains half of a surrogate pair, so it is no path"
    return None


def why_outside(path: str) -> str:
    """Why `real_inside` has no path inside the project for this one."""
    return path_flaw(path) or "leads out of the project"


def other_kind(mode: int) -> str | None:
    """What a path is if it is not a regular file. None if it is one."""
    if stat.S_ISREG(mode):
        return None
    return next((name for test, name in _KINDS if test(mode)), "something else")


def _reason(path: str, error: OSError) -> str:
    """A socket cannot be opened at all, so its kind is looked up."""
    try:
        kind = other_kind(os.stat(path).st_mode)
    except OSError:
        kind = None
    return f"cannot be read: {error.strerror}" if kind is None else f"is {kind}, not a file"
