"""Atomic writes, private files, and checks that a path is inside of a folder.

Only this module replaces files and decides whether a path is inside of a folder. Standard library only, with few
imports, because hooks use it.
"""

from __future__ import annotations

import os
import stat

from handrail.errors import StateError

PRIVATE = 0o600


def is_below(path: str, folder: str) -> bool:
    """True if a path is below a folder. Both must be real paths. A folder is not below itself."""
    return path.startswith(folder.rstrip("/") + "/")


def real_inside(folder: str, path: str) -> str | None:
    """The real path of `path`, relative to `folder`. None if links or `..` lead outside, or if it cannot be a path."""
    root = os.path.realpath(folder)
    try:
        real = os.path.realpath(os.path.join(root, path))
    except ValueError:  # a NUL character, or half of a surrogate pair
        return None
    return real if real == root or is_below(real, root) else None


MORE = 64 * 1024


def size(path: str) -> int:
    """The size of a file in bytes; 0 if there is none."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def mark(path: str) -> tuple[int, int]:
    """The size of a file and when it was changed; zeros if there is none. A file may change without growing."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns


def read_regular(path: str, offset: int = 0) -> bytes:
    """The content of a file from `offset` on. Raises `OSError` if it is not a regular file: a FIFO would block."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(22, "it is not a regular file", path)
        pieces, at, size = [], offset, max(found.st_size - offset, 0) + 1
        while piece := os.pread(handle, size, at):
            pieces.append(piece)
            at, size = at + len(piece), MORE  # it may have grown meanwhile
    finally:
        os.close(handle)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def write_whole(
    path: str, data: bytes, *, durable: bool, mode: int = PRIVATE, new: str | None = None, exact: int | None = None
) -> None:
    """Write a file atomically. If this raises, the old file is unchanged.

    With `durable`, the content and the name are synced to the disk before this returns. `new` is the path of the file
    that replaces the old one. `exact` are permissions to which the umask does not apply.
    """
    new = new or f"{path}.{os.getpid()}.new"
    try:
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
        with open(handle, "wb") as file:
            if exact is not None:
                os.fchmod(handle, exact)
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
    """Write a private file of Handrail's state atomically. Raises `StateError` if this fails."""
    try:
        write_whole(path, data, durable=durable)
    except OSError as error:
        raise StateError(f"`{path}` cannot be written: {error.strerror}") from error


def mode_of(path: str, default: int = 0o644) -> int:
    """The permissions of a file, or `default` if the file does not exist."""
    try:
        return os.stat(path).st_mode & 0o777
    except OSError:
        return default


def remove(path: str) -> None:
    """Remove a file. Errors are ignored."""
    try:
        os.unlink(path)
    except OSError:
        return


def open_private(path: str, flags: int) -> int:
    """An opener for `open` that creates files which only the user can read."""
    return os.open(path, flags | os.O_CLOEXEC, PRIVATE)


def make_private(folder: str) -> None:
    """Create a folder and its missing parents, accessible only to the user."""
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
        raise StateError(f"the folder `{missing[0]}` cannot be created: {error.strerror}") from error


def sync_folder(path: str) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
