"""A file layer that injects faults: at a chosen write or sync it kills its own process, or fails as a disk does.

It replaces a few functions of the system. It knows only one thing about Handrail: a journal is a file named `journal`
with one checksummed line of JSON per record.
"""

from __future__ import annotations

import errno
import json
import os
import signal
from typing import Any, NamedTuple, NoReturn

JOURNAL = "journal"


class Doom(NamedTuple):
    """What happens at the `at`-th write or sync of a journal. With `event` and `path`, only their records count.

    `after`: killed after the record is written. `torn`: killed after the part `keep` of it is written. `unsynced`: the
    power fails before its sync, so everything since the last sync is lost. `synced`: killed after a sync of any file.
    `full`: writing fails. `failing`: a sync of any file fails. Both fail `times` times, or always. `seconds`: the time
    limit of the process.
    """

    how: str = ""
    at: int = 1
    keep: str = ""
    event: str = ""
    path: str = ""
    times: int = 0
    seconds: int = 90


class Layer:
    """Opens, writes and syncs as the system does, until the chosen write or sync."""

    def __init__(self, doom: Doom) -> None:
        self.doom = doom
        self.names: dict[int, str] = {}
        self.synced: dict[str, int] = {}
        self.trace: list[list[str]] = []
        self.writes = self.syncs = self.journal_syncs = 0
        self.counts = False
        self.ends: dict[str, int] = {}
        self._open, self._pwrite, self._fsync = os.open, os.pwrite, os.fsync

    def install(self) -> None:
        vars(os).update(open=self.open, pwrite=self.pwrite, fsync=self.fsync, fdatasync=self.fsync)

    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        handle = self._open(path, flags, mode, dir_fd=dir_fd)
        self.names[handle] = str(path)
        if self.is_journal(handle):
            self.synced.setdefault(str(path), os.path.getsize(path))
            self.ends.setdefault(str(path), os.path.getsize(path))
        return handle

    def is_journal(self, handle: int) -> bool:
        return os.path.basename(self.names.get(handle, "")) == JOURNAL

    def pwrite(self, handle: int, data: bytes, offset: int) -> int:
        if not self.is_journal(handle):
            return self._pwrite(handle, data, offset)
        events = events_of(data)
        if events is None:
            return self._pwrite(handle, data, offset)
        self.trace.extend(["record", event["type"], event.get("path", "")] for event in events)
        wanted = (self.doom.event, self.doom.path)
        self.counts = not self.doom.event or wanted in [(event["type"], event.get("path")) for event in events]
        self.writes += self.counts
        if self.doom.how == "full" and self.is_failing(self.writes):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self.doom.how == "torn" and self.is_time(self.writes):
            self._pwrite(handle, data[: self.kept(len(data))], offset)
            die()
        done = self._pwrite(handle, data, offset)
        self.ends[self.names[handle]] = offset + done
        if self.doom.how == "after" and self.is_time(self.writes):
            die()
        return done

    def fsync(self, handle: int) -> None:
        self.trace.append(["sync", self.names.get(handle, ""), ""])
        self.syncs += self.counts or not self.doom.event
        if self.doom.how == "failing" and self.is_failing(self.syncs):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if self.is_journal(handle):
            self.journal_syncs += 1
            if self.doom.how == "unsynced" and self.journal_syncs == self.doom.at:
                self.lose_power()
        self._fsync(handle)
        if self.is_journal(handle):
            self.synced[self.names[handle]] = self.ends[self.names[handle]]
        if self.doom.how == "synced" and self.syncs == self.doom.at:
            die()

    def is_time(self, number: int) -> bool:
        return self.counts and number == self.doom.at

    def is_failing(self, number: int) -> bool:
        last = self.doom.at + self.doom.times if self.doom.times else number + 1
        return self.doom.at <= number < last

    def kept(self, size: int) -> int:
        return {"nothing": 0, "a byte": 1, "half": size // 2, "all but its end": size - 1}[self.doom.keep]

    def lose_power(self) -> NoReturn:
        for path, size in self.synced.items():
            os.truncate(path, size)
        die()


def events_of(data: bytes) -> list[dict[str, Any]] | None:
    """The events of a record; None for the rest of a record that was written in two parts."""
    try:
        record = json.loads(data[9:])
    except ValueError:
        return None
    return list(record.get("events", ()))


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a killed process goes on")
