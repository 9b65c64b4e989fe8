"""Opens definition files safely: one function checks a path and reads the file.

The checks use the opened file descriptor, so replacing a link after the check has no effect. The size is limited,
a pipe never blocks the reader, and a path cannot leave its root folder.
"""

from __future__ import annotations

import codecs
import errno
import os
import stat
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate

from handrail.base.files import is_below
from handrail.base.record import Record
from handrail.source.diagnostics import Diagnostic, Severity
from handrail.source.suggestions import nearest

MAX_BYTES = 4 * 1_048_576
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


class Source:
    """The text of a file with `\\n` line ends, and the file name for messages.

    The text is split into lines once, on first use: a file may have one problem per line. `is_foreign`: it was written
    for another program, which ignores unknown keys.
    """

    def __init__(self, file: str, text: str, *, is_foreign: bool = False) -> None:
        self.file = file
        self.text = text
        self.is_foreign = is_foreign

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def starts(self) -> list[int]:
        """The offset at which each line begins."""
        return [0, *accumulate(len(line) + 1 for line in self.lines[:-1])]

    def line(self, number: int) -> str | None:
        return self.lines[number - 1] if 0 < number <= len(self.lines) else None

    def place(self, at: int) -> tuple[int, int]:
        """Line and column of an offset into the text."""
        line = bisect_right(self.starts, at)
        return line, at - self.starts[line - 1] + 1

    def key_place(self, name: str, at: tuple[int, int]) -> tuple[int, int, int]:
        """Line, column and width of a key, including its quotes."""
        line, column = at
        text = self.line(line) or ""
        quote = text[column - 1 : column]
        end = text.find(quote, column) if quote in ("'", '"') else -1
        return line, column, len(name) if end < 0 else end - column + 2

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

    def echo(self, place: tuple[int, int, int], message: str, hint: str, cause: str) -> Diagnostic:
        """A note: what this place names has errors. `cause` is its file."""
        return self.problem("nested-broken", place, message, hint, "note")._replace(cause=cause)


class OpenedFile(Record):
    """The content and the stamp of a file that was read."""

    data: bytes
    stamp: os.stat_result


class UnopenedFile(Record):
    """The reason why a file was not read."""

    code: str
    message: str
    hint: str | None = None


class Root:
    """A folder with definitions. Files outside of it are never read. `is_foreign`: see `Source`."""

    def __init__(self, path: str, *, is_foreign: bool = False) -> None:
        self.path = path
        self.is_foreign = is_foreign
        self.real = os.path.realpath(path)
        self._real_folders: dict[str, str] = {path: self.real}

    def open(self, folder: str, entry: str) -> OpenedFile | UnopenedFile:
        """Read the file at the path `entry`, relative to `folder`."""
        if entry.startswith("/") or (len(entry) > 1 and entry[1] == ":" and entry[0].isalpha()):
            hint = "write it relative to the folder of this file"
            return UnopenedFile("path-escape", f"`{entry}` is an absolute path", hint)
        if "\x00" in entry:
            return UnopenedFile("path-escape", f"`{entry}` contains a NUL character", "remove `\\0` from the path")
        path = f"{folder}/{entry}"  # the entry is relative, so this is what `os.path.join` gives, faster
        try:
            handle, is_checked = self._open(folder, entry)
        except OSError as error:
            return self._explain(path, entry, error)
        try:
            status = os.fstat(handle)
            if not is_checked and not self._contains(folder, entry, status):
                return self._escape_problem(entry)
            return self._read(handle, entry, status)
        finally:
            os.close(handle)

    def _open(self, folder: str, entry: str) -> tuple[int, bool]:
        """A handle, and whether it surely belongs to a file in this root: a file of the real folder that is no link."""
        real = self._real_folders.get(folder) or self._real_folder(folder)
        if "/" not in entry and entry not in ("", ".", "..") and is_below(real, self.real):
            try:
                return os.open(f"{real}/{entry}", _FLAGS | os.O_NOFOLLOW), True
            except OSError as error:
                if error.errno not in (errno.ELOOP, errno.EMLINK):
                    raise
        return os.open(f"{folder}/{entry}", _FLAGS), False

    def _read(self, handle: int, entry: str, status: os.stat_result) -> OpenedFile | UnopenedFile:
        if stat.S_ISDIR(status.st_mode):
            hint = "name a file in this folder, or replace the folder with a file"
            return UnopenedFile("path-folder", f"`{entry}` is a folder, a file was expected", hint)
        if not stat.S_ISREG(status.st_mode):
            return _not_regular(entry, stat.S_ISFIFO(status.st_mode))
        if status.st_size > MAX_BYTES:
            return _too_large(entry, f"{status.st_size}")
        data = os.read(handle, status.st_size + 1)
        while len(data) <= MAX_BYTES and len(data) != status.st_size and (chunk := os.read(handle, 65_536)):
            data += chunk
        if len(data) > MAX_BYTES:
            return _too_large(entry, f"more than {MAX_BYTES}")
        return OpenedFile(data, status)

    def _contains(self, folder: str, entry: str, status: os.stat_result) -> bool:
        """True if the opened file is below this root after all links are followed."""
        if "/" in entry:
            folder, entry = os.path.split(os.path.join(folder, entry))
        real = f"{self._real_folder(folder)}/{entry}"
        try:
            real_status = os.lstat(real)
            if entry in ("", ".", "..") or stat.S_ISLNK(real_status.st_mode):
                real = os.path.realpath(real)
                real_status = os.lstat(real)
        except OSError:
            return False
        is_same = (real_status.st_dev, real_status.st_ino) == (status.st_dev, status.st_ino)
        return is_same and is_below(real, self.real)

    def _real_path(self, path: str) -> str:
        """`os.path.realpath` with a cache of folders: most files of a catalog share a folder."""
        folder, name = os.path.split(path)
        if name in ("", ".", ".."):
            return os.path.realpath(path)
        real = os.path.join(self._real_folder(folder), name)
        return os.path.realpath(real) if os.path.islink(real) else real

    def _real_folder(self, folder: str) -> str:
        """The cached real path of a folder. If its parent is cached, only the last part is resolved."""
        result = self._real_folders.get(folder)
        if result is None:
            is_near = os.path.dirname(folder) in self._real_folders
            result = self._real_path(folder) if is_near else os.path.realpath(folder)
            self._real_folders[folder] = result
        return result

    def _escape_problem(self, entry: str) -> UnopenedFile:
        message = f"`{entry}` leads out of the folder that it must stay in"
        return UnopenedFile("path-escape", message, "move it into the folder of the workflows")

    def _explain(self, path: str, entry: str, error: OSError) -> UnopenedFile:
        if isinstance(error, FileNotFoundError):
            if not is_below(self._real_path(path), self.real):
                return self._escape_problem(entry)
            if os.path.islink(path):
                message = f"`{entry}` is a link to a file that does not exist"
                return UnopenedFile("file-missing", message, "fix the link, or replace it with the file")
            is_joined = " - " in entry  # YAML reads an item with a larger indentation as more text of the item above
            hint = "begin every item with `- `, in the same column" if is_joined else self._suggestion(path)
            hint = hint or "a path is relative to the folder of the file that names it"
            return UnopenedFile("file-missing", f"`{entry}` does not exist", hint)
        if error.errno == errno.ENXIO:
            return _not_regular(entry)
        reason = error.strerror or type(error).__name__
        is_denied = isinstance(error, PermissionError)
        hint = "give yourself permission to read it" if is_denied else "replace it with a regular file"
        return UnopenedFile("file-unreadable", f"`{entry}` cannot be read: {reason}", hint)

    def _suggestion(self, path: str) -> str | None:
        folder, name = os.path.split(path)
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            return None
        suggestions = [f"{name}.md"] if f"{name}.md" in names else nearest(name, names)
        if not suggestions:
            return None
        case = " upper and lower case matter" if suggestions[0].casefold() == name.casefold() else ""
        return f"did you mean `{suggestions[0]}`?{case}"


def _not_regular(entry: str, is_pipe: bool = False) -> UnopenedFile:
    what = "a pipe" if is_pipe else "a socket or a device"
    return UnopenedFile("path-kind", f"`{entry}` is {what}, a file was expected", "use a regular file")


def _too_large(entry: str, size: str) -> UnopenedFile:
    hint = "keep definitions short; the agent can read large files itself"
    return UnopenedFile("file-too-large", f"`{entry}` has {size} bytes, {MAX_BYTES} are allowed", hint)


def stamp(path: str) -> os.stat_result | None:
    """The current stamp of a path, after following links. None if there is no file."""
    try:
        return os.stat(path)
    except (OSError, ValueError):  # a NUL character in the path is a ValueError
        return None


def decode(file: str, data: bytes) -> tuple[Source, list[Diagnostic]]:
    """The bytes as text with `\\n` line ends and without a byte-order mark, and the problems found."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return Source(file, ""), [_not_utf8(file, data, error)]
    if b"\r" in data or data.startswith(codecs.BOM_UTF8):
        text = _with_unix_line_ends(text)
    source = Source(file, text)
    if b"\0" in data:
        at = text.find("\0")
        message, hint = "the file contains a NUL byte", "the file is binary or damaged; save it as UTF-8 text"
        return Source(file, ""), [source.problem("file-nul", (*source.place(at), 1), message, hint)]
    return source, []


def reopen(file: str) -> Source | None:
    """A definition that was read before; None if it cannot be opened now."""
    folder, name = os.path.split(file)
    opened_file = Root(os.path.dirname(folder)).open(folder, name)
    return decode(file, opened_file.data)[0] if isinstance(opened_file, OpenedFile) else None


def _not_utf8(file: str, data: bytes, error: UnicodeDecodeError) -> Diagnostic:
    """The problem at the first invalid byte; invalid bytes in the shown line are replaced."""
    valid_text = _with_unix_line_ends(data[: error.start].decode("utf-8"))
    text = _with_unix_line_ends(data.decode("utf-8", "replace"))
    line, column = valid_text.count("\n") + 1, len(valid_text) - valid_text.rfind("\n")
    message = f"byte 0x{data[error.start]:02x} is not UTF-8"
    is_utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    hint = "the file looks like UTF-16; save it as UTF-8" if is_utf16 else "save the file as UTF-8"
    return Source(file, text).problem("file-encoding", (line, column, 1), message, hint)


def _with_unix_line_ends(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
