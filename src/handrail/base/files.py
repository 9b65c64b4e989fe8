"""Reads and writes files and folders: atomic writes, private files and folders, regular files only.

Only this module replaces files and decides whether a path is inside a folder. A path that comes from data may name a
pipe, a device or a socket: `read_limited` says why it cannot be read, and never blocks. `refuse_shared` refuses state
that other users could change: a session's gate is only as safe as the folder that it is in.
Imports only `os`, `stat` and the errors, because hooks use it at every tool call.
"""

from __future__ import annotations

import errno
import os
import stat

from handrail.base.errors import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

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


def upwards(folder: str) -> Iterator[str]:
    """A folder and all folders above it, the nearest first."""
    yield folder
    while (above := os.path.dirname(folder)) != folder:
        yield (folder := above)


CHUNK_BYTES = 64 * 1024


def size(path: str) -> int:
    """The size of a file in bytes; 0 if there is none."""
    return size_and_time(path)[0]


def size_and_time(path: str) -> tuple[int, int]:
    """The size of a file and when it was changed; zeros if there is none. A file may change without growing."""
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns


def identity(path: str | int) -> tuple[int, int] | None:
    """Identifies the file behind a path or a descriptor, until it is replaced; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def read_regular(path: str, offset: int = 0) -> bytes:
    """The content of a file from `offset` on. Raises `OSError` if it is not a regular file: a FIFO would block."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(22, "it is not a regular file", path)
        pieces, at, size = [], offset, max(status.st_size - offset, 0) + 1
        while piece := os.pread(handle, size, at):
            pieces.append(piece)
            at, size = at + len(piece), CHUNK_BYTES  # it may have grown meanwhile
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


def overwrite(path: str, data: bytes) -> None:
    """Write a private file in place. This is fast, but a reader may see a half-written file and has to notice it."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, PRIVATE)
    try:
        if os.pwrite(handle, data, 0) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        if os.fstat(handle).st_size > len(data):
            os.ftruncate(handle, len(data))
    finally:
        os.close(handle)


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


def remove_record(path: str) -> bool:
    """Remove a file of Handrail's state. False if there was none. Raises `StateError` if it is still there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StateError(f"`{path}` cannot be removed: {error.strerror}") from error
    return True


def open_private(path: str, flags: int) -> int:
    """An opener for `open` that creates files which only the user can read."""
    return os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, PRIVATE)  # a FIFO without a reader is an error


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


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


def way_out(path: str, error: OSError) -> str:
    """What a person can do about a file of Handrail's state that could not be opened, read or written."""
    if error.errno in _FULL:
        return "free some space, then run the command again; nothing was lost"
    if error.errno in _FORBIDDEN:
        return f"`ls -ld {path}` shows who may use it; allow yourself to write there, then run the command again"
    if error.errno == errno.EMFILE:
        return "too many files are open: `ulimit -n 4096` allows more, then run the command again; nothing was lost"
    return f"`ls -ld {path}` shows what is there; repair it or the disk, then try again"


_OTHERS_WRITE = 0o022


def refuse_shared(top: str, folder: str | None = None) -> None:
    """Raise `StateError` if a folder from `top` down to `folder` is a link, or if other users can change it.

    Folders that do not exist yet are not refused: Handrail creates them with the right permissions.
    """
    paths = [top]
    if folder is not None and folder.startswith(top + "/"):
        for name in folder[len(top) + 1 :].split("/"):
            paths.append(f"{paths[-1]}/{name}")
    for path in paths:
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StateError(f"the folder `{path}` cannot be read: {error.strerror}") from error
        if (wrong := _folder_flaw(path, status)) is not None:
            message, hint = wrong
            raise StateError(f"Handrail does not use `{path}`: {message}", hint)


def _folder_flaw(path: str, status: os.stat_result) -> tuple[str, str] | None:
    if stat.S_ISLNK(status.st_mode):
        return (
            "it is a symbolic link",
            "replace it with a folder, or set HANDRAIL_HOME to the folder that you want to use",
        )
    if not stat.S_ISDIR(status.st_mode):
        return "it is not a folder", f"move it away: `mv {path} {path}.old`"
    if status.st_uid != os.geteuid():
        return f"it belongs to another user (id {status.st_uid})", "use a folder of your own: set HANDRAIL_HOME"
    if status.st_mode & _OTHERS_WRITE:
        mode = f"{stat.S_IMODE(status.st_mode):o}"
        return f"other users can change it (mode {mode})", f"look what is in it, then run `chmod 700 {path}`"
    return None


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


def read_limited(path: str, most: int, *, follows: bool = True) -> bytes:
    """The content of a regular file of at most `most` bytes. Raises `Unreadable`, without `follows` also for a link."""
    if (flaw := path_flaw(path)) is not None:
        raise Unreadable(flaw)
    try:
        handle = os.open(path, _FLAGS if follows else _FLAGS | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise Unreadable("does not exist", is_missing=True) from error
    except OSError as error:
        is_link = not follows and os.path.islink(path)
        raise Unreadable("is a link, not a file" if is_link else _open_error(path, error)) from error
    try:
        if (kind := other_kind(os.fstat(handle).st_mode)) is not None:
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


def _open_error(path: str, error: OSError) -> str:
    """A socket cannot be opened at all, so its kind is looked up."""
    try:
        kind = other_kind(os.stat(path).st_mode)
    except OSError:
        kind = None
    return f"cannot be read: {error.strerror}" if kind is None else f"is {kind}, not a file"


ASIDE = "aside"


def put_aside(path: str, state: str) -> str:
    """Move a file or folder to the folder `aside` of Handrail's state, and return its new path.

    Raises `OSError` or `StateError` if it cannot be moved.
    """
    place = os.path.join(state, ASIDE)
    make_private(place)
    number = 1
    while os.path.lexists(target := os.path.join(place, f"{os.path.basename(path)}.{number}")):
        number += 1
    os.rename(path, target)
    return target


TRASH = ".removed"
"""The ending of a folder that is being removed. It is not a run and not a session any more."""


def remove_folder(folder: str) -> None:
    """Remove a folder with all that is in it. What an interrupted removal left beside it is removed as well."""
    import shutil

    above = os.path.dirname(folder)
    trash = os.path.join(above, f".{os.path.basename(folder)}.{os.getpid()}{TRASH}")
    try:
        os.rename(folder, trash)
    except OSError as error:
        raise StateError(f"`{folder}` cannot be removed: {error.strerror}") from error
    for name in os.listdir(above):
        if name.startswith(".") and name.endswith(TRASH):
            shutil.rmtree(os.path.join(above, name), ignore_errors=True)


_CURRENT_FOLDER = -100
_EXCHANGE = 2
"""The same number on Linux (`renameat2`) and macOS (`renamex_np`)."""


def exchange(left: str, right: str) -> bool:
    """Exchange two paths on the same disk. False if this system or this file system cannot do it."""
    import ctypes
    import sys

    paths = os.fsencode(left), os.fsencode(right)
    try:
        system = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            return bool(system.renamex_np(*paths, _EXCHANGE) == 0)
        return bool(system.renameat2(_CURRENT_FOLDER, paths[0], _CURRENT_FOLDER, paths[1], _EXCHANGE) == 0)
    except (OSError, AttributeError):  # the function does not exist here
        return False


MAX_ENTRIES = 20_000
"""How many entries of a folder are looked at."""


def entries(folder: str) -> list[os.DirEntry[str]]:
    """What is in a folder, by name. Empty if there is no folder, or if it is a link. At most `MAX_ENTRIES`."""
    if os.path.islink(folder):
        return []
    try:
        with os.scandir(folder) as listing:
            return sorted((entry for entry, _ in zip(listing, range(MAX_ENTRIES), strict=False)), key=lambda e: e.name)
    except OSError:
        return []


def files_below(folder: str, *, without: tuple[str, ...] = ()) -> Iterator[os.DirEntry[str]]:
    """The regular files in a folder and below. Links are not followed. `without` are names of folders to leave out."""
    waiting, entries_left = [folder], MAX_ENTRIES
    while waiting:
        for entry in entries(waiting.pop()):
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in without:
                    waiting.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                entries_left -= 1
                if entries_left < 0:
                    return
                yield entry
