"""Opening files that somebody else wrote: one routine decides whether a path may be read and reads it.

Decides on the file that was really opened, so a link swapped in between changes nothing. Bounded in size,
never blocks on a pipe, never follows a path out of its root.
"""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from handrail.diagnostics import Diagnostic, Severity
from handrail.suggest import nearest

MAX_BYTES = 1_048_576


class Stamp(NamedTuple):
    """What tells two states of a file apart without reading it."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int


class Source(NamedTuple):
    """The text of a file with line ends as `\\n`, and the name it is reported under."""

    file: str
    text: str

    def line(self, number: int) -> str | None:
        lines = self.text.split("\n")
        return lines[number - 1] if 0 < number <= len(lines) else None

    def problem(
        self,
        code: str,
        place: tuple[int, int, int],
        message: str,
        hint: str | None = None,
        severity: Severity = "error",
    ) -> Diagnostic:
        line, column, width = place
        return Diagnostic(code, severity, self.file, line, column, message, hint, self.line(line), width)


class Opened(NamedTuple):
    """A file that may be read: its bytes, its stamp."""

    data: bytes
    stamp: Stamp


class Unopened(NamedTuple):
    """Why a file may not or cannot be read."""

    code: str
    message: str
    hint: str | None = None


class Root:
    """A folder that definitions may be read from, and nothing outside it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.real = os.path.realpath(path)
        self._real_folders: dict[str, str] = {}

    def open(self, folder: str, entry: str) -> Opened | Unopened:
        """The file that `entry`, written in a file of `folder`, names."""
        if entry.startswith("/") or (len(entry) > 1 and entry[1] == ":" and entry[0].isalpha()):
            hint = "write it relative to the folder of this file"
            return Unopened("path-escape", f"`{entry}` is an absolute path", hint)
        if "\x00" in entry:
            return Unopened("path-escape", "the path contains a NUL character")
        path = os.path.join(folder, entry)
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            return self._cannot(path, entry, error)
        try:
            return self._read(handle, path, entry)
        finally:
            os.close(handle)

    def _read(self, handle: int, path: str, entry: str) -> Opened | Unopened:
        status = os.fstat(handle)
        if not self._holds(path, status):
            return self._escape(entry)
        if stat.S_ISDIR(status.st_mode):
            return Unopened("path-folder", f"`{entry}` is a folder, a file was expected")
        if not stat.S_ISREG(status.st_mode):
            return Unopened("path-kind", f"`{entry}` is not a regular file")
        if status.st_size > MAX_BYTES:
            return Unopened("file-too-large", f"`{entry}` has {status.st_size} bytes; {MAX_BYTES} are allowed")
        data = os.read(handle, status.st_size + 1)
        while len(data) <= MAX_BYTES and len(data) != status.st_size and (more := os.read(handle, 65_536)):
            data += more
        if len(data) > MAX_BYTES:
            return Unopened("file-too-large", f"`{entry}` has more than {MAX_BYTES} bytes")
        return Opened(data, stamp_of(status))

    def _holds(self, path: str, status: os.stat_result) -> bool:
        """Is the opened file, wherever the links led, a file below this root?"""
        real = self._real_path(path)
        try:
            found = os.lstat(real)
        except OSError:
            return False
        same = (found.st_dev, found.st_ino) == (status.st_dev, status.st_ino)
        return same and self._is_below(real)

    def _is_below(self, real: str) -> bool:
        return real.startswith(self.real.rstrip("/") + "/")

    def _real_path(self, path: str) -> str:
        """`os.path.realpath`, with the folders remembered: most files of a catalog share theirs."""
        folder, name = os.path.split(path)
        if name in ("", ".", ".."):
            return os.path.realpath(path)
        known = self._real_folders.get(folder)
        if known is None:
            known = self._real_folders[folder] = os.path.realpath(folder)
        real = known + "/" + name
        return os.path.realpath(real) if os.path.islink(real) else real

    def _escape(self, entry: str) -> Unopened:
        return Unopened(
            "path-escape",
            f"`{entry}` leads out of the folder it may use",
            "keep it inside the folder that holds the workflows",
        )

    def _cannot(self, path: str, entry: str, error: OSError) -> Unopened:
        if isinstance(error, FileNotFoundError):
            if not self._is_below(self._real_path(path)):
                return self._escape(entry)
            return Unopened("file-missing", f"`{entry}` does not exist", self._instead(path))
        reason = error.strerror or type(error).__name__
        return Unopened("file-unreadable", f"`{entry}` cannot be read: {reason}")

    def _instead(self, path: str) -> str | None:
        folder, name = os.path.split(path)
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            return None
        found = nearest(name, names)
        if not found:
            return None
        if found[0].casefold() == name.casefold():
            return f"did you mean `{found[0]}`? capital and small letters differ"
        return f"did you mean `{found[0]}`?"


def stamp_of(status: os.stat_result) -> Stamp:
    return Stamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def stamp(path: str) -> Stamp | None:
    """The present stamp of a path, links followed; nothing where there is no file."""
    try:
        return stamp_of(os.stat(path))
    except OSError:
        return None


def decode(file: str, data: bytes) -> tuple[Source, list[Diagnostic]]:
    """Bytes → text with `\\n` line ends and without a byte-order mark; or what is wrong with them."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return Source(file, ""), [_not_utf8(file, data, error)]
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    source = Source(file, text)
    at = text.find("\x00")
    if at >= 0:
        line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        hint = "the file is binary or damaged; save it as UTF-8 text"
        return Source(file, ""), [source.problem("file-nul", (line, column, 1), "the file contains a NUL byte", hint)]
    return source, []


def _not_utf8(file: str, data: bytes, error: UnicodeDecodeError) -> Diagnostic:
    before = data[: error.start].decode("utf-8", "replace")
    line, column = before.count("\n") + 1, error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
    message = f"byte 0x{data[error.start]:02x} is not UTF-8"
    return Diagnostic("file-encoding", "error", file, line, column, message, "save the file as UTF-8")
