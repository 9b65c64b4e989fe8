"""Files on disk: written whole or not at all, kept private, and never outside of the folder they belong to.

The only place that replaces files and that decides whether a path stays inside a folder. Standard library only, and
little of it: hooks import this.
"""

from __future__ import annotations

import os

from handrail.errors import StateError

PRIVATE = 0o600


def is_below(path: str, folder: str) -> bool:
    """True if a path lies below a folder. Both have to be real paths; the folder is not below itself."""
    return path.startswith(folder.rstrip("/") + "/")


def real_inside(folder: str, path: str) -> str | None:
    """The real path of `path`, taken relative to `folder`; None if links or `..` lead out of the folder."""
    root = os.path.realpath(folder)
    real = os.path.realpath(os.path.join(root, path))
    return real if real == root or is_below(real, root) else None


def write_whole(path: str, data: bytes, *, durable: bool, mode: int = PRIVATE) -> None:
    """Put a whole file in place of another; on an `OSError` everything is left as it was.

    With `durable` the content and the new name are on the disk when this returns.
    """
    new = f"{path}.{os.getpid()}.new"
    try:
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
        with open(handle, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(handle)
        os.replace(new, path)
        if durable:
            sync_folder(os.path.dirname(path))
    except BaseException:
        remove(new)
        raise


def replace(path: str, data: bytes, *, durable: bool) -> None:
    """The same for a file of Handrail's own state: private, and a failure is a `StateError`."""
    try:
        write_whole(path, data, durable=durable)
    except OSError as error:
        raise StateError(f"`{path}` cannot be written: {error.strerror}") from error


def mode_of(path: str, default: int = 0o644) -> int:
    """The permissions of a file, or the default if there is none."""
    try:
        return os.stat(path).st_mode & 0o777
    except OSError:
        return default


def remove(path: str) -> None:
    """Remove a file if it is there and can be removed."""
    try:
        os.unlink(path)
    except OSError:
        return


def open_private(path: str, flags: int) -> int:
    """An opener for `open`: only the user may read the file."""
    return os.open(path, flags | os.O_CLOEXEC, PRIVATE)


def make_private(folder: str) -> None:
    """Make a folder, and the missing ones above it, for this user only."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    try:
        for path in reversed(missing):
            try:
                os.mkdir(path, 0o700)
            except FileExistsError:
                continue
            sync_folder(os.path.dirname(path))
    except OSError as error:
        raise StateError(f"the folder `{missing[0]}` cannot be made: {error.strerror}") from error


def sync_folder(path: str) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
