"""An append-only journal: one checksummed line a record, readable with `cat`.

A record is believed when its line is whole, its checksum fits and its number follows. What a crash left at the
end is cut off before the next append; damage in the middle is an error, never a guess. Standard library only.
"""

from __future__ import annotations

import os
from binascii import crc32

from handrail.errors import StateError
from handrail.state import jsonlite
from handrail.state.files import open_private, sync_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HAS_DATASYNC = hasattr(os, "fdatasync")
_HEAD = 9  # eight hexadecimal digits and a space


class JournalDamaged(StateError):
    """There are whole records behind one that cannot be read."""

    code = "damaged"


def encode(value: dict[str, Any]) -> bytes:
    """A value as one checksummed line."""
    body = jsonlite.dumps(value).encode()
    return b"%08x %s\n" % (crc32(body), body)


def mark(value: dict[str, Any]) -> str:
    """What tells this record from any other: the checksum its line begins with."""
    return encode(value)[:8].decode()


def decode(line: bytes) -> dict[str, Any] | None:
    """The value of a line without its line end, or nothing when it is not exactly what `encode` wrote."""
    body = line[_HEAD:]
    try:
        if not body or line[:_HEAD] != b"%08x " % crc32(body):
            return None
        value = jsonlite.loads(body.decode())
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


class Scan:
    """The records of some bytes, how far they reach, where the last one starts, and the mark of the first."""

    __slots__ = ("end", "last", "mark", "records")

    def __init__(self, data: bytes, number: int, path: str) -> None:
        self.records: list[dict[str, Any]] = []
        self.end = 0
        self.last = 0
        self.mark = data[:8].decode("ascii", "replace")
        while True:
            stop = data.find(b"\n", self.end)
            record = decode(data[self.end : stop]) if stop >= 0 else None
            if record is None or record.get("n") != number:
                break
            self.records.append(record)
            self.last, self.end, number = self.end, stop + 1, number + 1
        self._refuse_damage(data, number, path)

    def _refuse_damage(self, data: bytes, number: int, path: str) -> None:
        """A torn end has nothing whole behind it. Anything else was damaged after it was written."""
        torn, *behind = data[self.end :].split(b"\n")
        if _is_whole(torn, number + 1) or any(_holds_whole(line, number) for line in (torn[1:], *behind)):
            message = f"the journal `{path}` is damaged at record {number}"
            raise JournalDamaged(message, "`handrail cancel --yes` puts it aside and frees the session")


def _is_whole(line: bytes, number: int) -> bool:
    """Is this a record that was written, of this number or a later one?"""
    record = decode(line)
    return record is not None and isinstance(record.get("n"), int) and record["n"] >= number


def _holds_whole(line: bytes, number: int) -> bool:
    """Does a line end with such a record, behind noise or behind another that lost its line end?"""
    space = line.find(b" {")
    while space >= 0:
        if space >= 8 and _is_whole(line[space - 8 :], number):
            return True
        space = line.find(b" {", space + 1)
    return False


def read(path: str, offset: int = 0, number: int = 0) -> Scan:
    """The records from `offset`, the first of which has this number. A missing journal is empty."""
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            data = file.read()
    except FileNotFoundError:
        data = b""
    except OSError as error:
        raise StateError(f"the journal `{path}` cannot be read: {error.strerror}") from error
    return Scan(data, number, path)


def read_behind(path: str, offset: int) -> tuple[list[dict[str, Any]], int]:
    """The records from `offset`, and where they end, without reading what lies before. A missing journal is empty.

    A reader may have seen a record that its writer then took back, because it could not be synced. Then `offset` is
    inside of a later record, and reading continues behind that one.
    """
    try:
        with open(path, "rb") as file:
            file.seek(max(0, offset - 1))
            data = file.read().rstrip(b"\0")  # room that was made is empty
    except FileNotFoundError:
        return [], offset
    except OSError as error:
        raise StateError(f"the journal `{path}` cannot be read: {error.strerror}") from error
    if offset:
        skipped = data.find(b"\n") + 1
        if not skipped:
            return [], offset
        data, offset = data[skipped:], offset - 1 + skipped
    stop = data.find(b"\n")
    if stop < 0:
        return [], offset
    first = decode(data[:stop]) if offset else None
    number = first.get("n") if first is not None else None
    scan = Scan(data, number if isinstance(number, int) else 0, path)
    return scan.records, offset + scan.end


def append(path: str, end: int, record: dict[str, Any], *, durable: bool = True) -> int:
    """Write a record at `end`, to the disk, and say where it ends. Nothing is kept of a write that failed.

    The caller holds the lock and knows that everything before `end` is whole. Without `durable` the record is safe
    from a crash of ours but not from the machine's; the next durable one carries it along.
    """
    line = encode(record)
    created = end == 0 and not os.path.exists(path)
    handle = open_for_writing(path)
    try:
        put(handle, path, end, line, durable=durable)
        if created:
            sync_folder(os.path.dirname(path))
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        os.close(handle)
    return end + len(line)


def open_for_writing(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StateError(f"the journal `{path}` cannot be written: {error.strerror}") from error


def unwritable(path: str, error: OSError) -> StateError:
    message = f"the journal `{path}` cannot be written: {error.strerror}"
    return StateError(message, "free some space, then run the command again; nothing was lost")


def put(handle: int, path: str, end: int, line: bytes, *, durable: bool, is_clean: bool = False) -> None:
    """Write a line at `end` of an open journal. What a crash left there is kept aside; a write that fails is undone.

    `is_clean`: the writer knows that nothing lies behind `end`, since it wrote there last.
    """
    if not is_clean and os.fstat(handle).st_size > end:
        _keep_torn(path, handle, end)
    try:
        _write(handle, line, end)
        if durable:
            sync(handle)
    except OSError:
        _undo(handle, end)
        raise


def _write(handle: int, line: bytes, end: int) -> None:
    done = os.pwrite(handle, line, end)
    while done < len(line):
        done += os.pwrite(handle, line[done:], end + done)


def sync(handle: int) -> None:
    """What was written is on the disk, and how long the file is; when it was written may be lost."""
    if _HAS_DATASYNC:
        os.fdatasync(handle)
    else:
        os.fsync(handle)


def _undo(handle: int, end: int) -> None:
    try:
        os.ftruncate(handle, end)
        os.fsync(handle)
    except OSError:  # the disk is failing: the half-written line is refused by its checksum
        return


def _keep_torn(path: str, handle: int, end: int) -> None:
    """Move what a crash left behind the last whole record to a file beside the journal. Room that was made is empty."""
    torn, at = b"", end
    while piece := os.pread(handle, 65_536, at):
        torn, at = torn + piece, at + len(piece)
    if torn := torn.rstrip(b"\0"):
        with open(path + ".torn", "ab", opener=open_private) as file:
            file.write(torn + b"\n")
    os.ftruncate(handle, end)


def make_room(handle: int, end: int, size: int) -> int:
    """Have the file system set so many bytes aside behind `end`; says where the room ends, `end` if there is none.

    Writing into room that is there changes nothing but data, so syncing it costs less.
    """
    try:
        os.posix_fallocate(handle, end, size)
    except (OSError, AttributeError):  # a full disk, a limit, another system: written as it comes
        return end
    return end + size
