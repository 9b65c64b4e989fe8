"""An append-only journal: one line with a checksum per record, readable with `cat`.

A record is valid if its line is complete, its checksum is correct and its number is the next one. An incomplete line
at the end, left by a crash, is removed before the next append. Damage before the end raises `JournalDamaged`.
Readers of a long journal pause the garbage collector with `without_collector`.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator

from handrail.base.errors import StateError
from handrail.base.files import open_private, read_regular, sync_folder, way_out
from handrail.base.jsonlite import decode_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HAS_DATASYNC = hasattr(os, "fdatasync")


class JournalDamaged(StateError):
    """A record is invalid, but valid records follow it, or the first one was never begun."""

    code = "damaged"


class Scan:
    """The valid records in some bytes, the offsets of their end and of the last one, and the marks of first and last.

    The mark of a record is the checksum of its line.
    """

    __slots__ = ("end", "last", "last_mark", "mark", "records")

    def __init__(self, data: bytes, number: int, path: str, *, may_be_damaged: bool = False) -> None:
        self.records: list[dict[str, Any]] = []
        self.end = 0
        self.last = 0
        while True:
            stop = data.find(b"\n", self.end)
            record = decode_line(data[self.end : stop]) if stop >= 0 else None
            if record is None or record.get("n") != number:
                break
            self.records.append(record)
            self.last, self.end, number = self.end, stop + 1, number + 1
        self.mark, self.last_mark = mark_of(data), mark_of(data[self.last :])
        if not may_be_damaged:
            self._raise_if_damaged(data, number, path)

    def _raise_if_damaged(self, data: bytes, number: int, path: str) -> None:
        """After a crash, no valid record follows the incomplete line, and the first record is at least begun."""
        torn_line, *later_lines = data[self.end :].split(b"\n")
        is_other = _is_valid(torn_line, number + 1) or not (number or later_lines or _may_begin(torn_line))
        if is_other or any(_ends_with_valid(line, number) for line in (torn_line[1:], *later_lines)):
            message = f"the journal `{path}` is damaged at record {number}"
            raise JournalDamaged(message, "`handrail cancel --yes` moves it away and frees the session")


def mark_of(line: bytes) -> str:
    return line[:8].decode("ascii", "replace")


def _may_begin(torn_line: bytes) -> bool:
    """True if an incomplete line can be the begin of a record: a checksum, or zeros that were never written."""
    begin = torn_line.rstrip(b"\0")[:9]
    return not begin[:8].strip(b"0123456789abcdef") and begin[8:] in (b"", b" ")


def _is_valid(line: bytes, number: int) -> bool:
    """True if the line is a valid record with this number or a higher one."""
    record = decode_line(line)
    return record is not None and isinstance(record.get("n"), int) and record["n"] >= number


def _ends_with_valid(line: bytes, number: int) -> bool:
    """True if a line ends with such a record, after other bytes or after a record without a line end."""
    space = line.find(b" {")
    while space >= 0:
        if space >= 8 and _is_valid(line[space - 8 :], number):
            return True
        space = line.find(b" {", space + 1)
    return False


def read(path: str, offset: int = 0, number: int = 0, *, may_be_damaged: bool = False) -> Scan:
    """The records from `offset` on; the first one must have this number. A missing journal is empty.

    Raises `JournalDamaged` if it is damaged, or with `may_be_damaged` returns the records before the damage.
    """
    try:
        data = read_regular(path, offset)
    except FileNotFoundError:
        data = b""
    except OSError as error:
        raise StateError(f"the journal `{path}` cannot be read: {error.strerror}") from error
    return Scan(data, number, path, may_be_damaged=may_be_damaged)


def read_behind(path: str, offset: int) -> tuple[list[dict[str, Any]], int]:
    """The records from `offset` on, and the offset of their end. Earlier records are not read.

    A writer removes a record again if it cannot be synced, and a reader may have read this record already. Then
    `offset` is inside of a later record, and reading continues after that one. A missing journal is empty.
    """
    try:
        data = read_regular(path, max(0, offset - 1)).rstrip(b"\0")  # preallocated space is filled with zeros
    except FileNotFoundError:
        return [], offset
    except OSError as error:
        raise StateError(f"the journal `{path}` cannot be read: {error.strerror}") from error
    if offset:
        start = data.find(b"\n") + 1
        if not start:
            return [], offset
        data, offset = data[start:], offset - 1 + start
    stop = data.find(b"\n")
    if stop < 0:
        return [], offset
    record = decode_line(data[:stop]) if offset else None
    number = record.get("n") if record is not None else None
    scan = Scan(data, number if isinstance(number, int) else 0, path)
    return scan.records, offset + scan.end


def ends_at(path: str, offset: int) -> bool:
    """True if a record ends at this offset. False if the journal was cut, or replaced by another one."""
    if not offset:
        return True
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return os.pread(handle, 1, offset - 1) == b"\n"
    except OSError:
        return False
    finally:
        os.close(handle)


def append(path: str, end: int, line: bytes) -> int:
    """Write the line of a record at `end`, sync it, and return the offset of its end. A failed write is undone.

    The caller holds the lock and knows that all records before `end` are valid.
    """
    created = end == 0 and not os.path.exists(path)
    handle = open_for_writing(path)
    try:
        write_line(handle, path, end, line, durable=True)
        if created:
            sync_folder(os.path.dirname(path))
    except OSError as error:
        raise write_error(path, error) from error
    finally:
        os.close(handle)
    return end + len(line)


def open_for_writing(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise write_error(path, error) from error


def write_error(path: str, error: OSError) -> StateError:
    return StateError(f"the journal `{path}` cannot be written: {error.strerror}", way_out(path, error))


def write_line(handle: int, path: str, end: int, line: bytes, *, durable: bool, is_clean: bool = False) -> None:
    """Write a line at `end` of an open journal. Bytes that a crash left there are moved away; a failed write is undone.

    `is_clean`: the caller wrote the last record itself, so there are no bytes after `end`.
    """
    if not is_clean and os.fstat(handle).st_size > end:
        _keep_torn(path, handle, end)
    try:
        count = os.pwrite(handle, line, end)
        while count < len(line):
            count += os.pwrite(handle, line[count:], end + count)
        if durable:
            sync(handle)
    except OSError:
        with contextlib.suppress(OSError):  # the disk is failing: readers reject the incomplete line by its checksum
            os.ftruncate(handle, end)
            os.fsync(handle)
        raise


def sync(handle: int) -> None:
    """Sync the content and the size of the file to the disk, but not its times."""
    if _HAS_DATASYNC:
        os.fdatasync(handle)
    else:
        os.fsync(handle)


def _keep_torn(path: str, handle: int, end: int) -> None:
    """Move the bytes after the last valid record to the `.torn` file. Preallocated zeros are dropped."""
    torn_bytes, at = b"", end
    while piece := os.pread(handle, 65_536, at):
        torn_bytes, at = torn_bytes + piece, at + len(piece)
    if torn_bytes := torn_bytes.rstrip(b"\0"):
        with open(path + ".torn", "ab", opener=open_private) as file:
            file.write(torn_bytes + b"\n")
    os.ftruncate(handle, end)


def preallocate(handle: int, end: int, size: int) -> int:
    """Preallocate `size` bytes after `end`, and return the offset of their end; `end` if this is not possible.

    Writing into preallocated space does not change the size of the file, so syncing is faster.
    """
    try:
        os.posix_fallocate(handle, end, size)
    except (OSError, AttributeError):  # a full disk, a quota, or not Linux: continue without preallocation
        return end
    return end + size


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Pause the garbage collector while a journal is read. Every new object is kept, so a collection finds nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
