"""What agents and programs of a run print while they work: a file of numbered lines next to the journal.

It is for people who look at a run, and no run depends on it: it is not synced, it is limited, and if it cannot be
written, its lines are lost. Lines that came too fast are not written, but they are counted: their numbers are missing.
Secrets are masked. A reader skips a line that a kill left incomplete.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Callable
from typing import Any

from handrail.contracts import AgentSaid
from handrail.runs import machine
from handrail.runs.glance import answer_words
from handrail.secrets.redaction import Secrets
from handrail.state import files, lines

NAME = "activity"
LONGEST_LINE = 4 * 1024
MOST_BYTES = 8 * 1024 * 1024
LAST = 64 * 1024
AT_ONCE = 400
"""How many lines are written at once. Of more, the last ones are written."""
OF_RESULT = 20
"""How many lines of what a tool returned to an agent are kept: the last ones."""
SOON = 0.05
Mark = tuple[int, int]
"""The file that was read, and the offset up to which."""


class Activity:
    """The writer. The caller holds the run's lock."""

    def __init__(self, folder: str, clock: Callable[[], float], secrets: Secrets) -> None:
        self.path = os.path.join(folder, NAME)
        self.clock = clock
        self.secrets = secrets
        self.number = 0
        self._waiting: deque[bytes] = deque(maxlen=AT_ONCE)
        self._handle: int | None = None
        self._end = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, node: str, kind: str, text: str) -> None:
        """Add one line."""
        self._open()
        self.number += 1
        line = {"n": self.number, "t": round(self.clock(), 3), "node": node, "kind": kind, "text": text}
        if self.secrets:
            line["text"] = self.secrets.mask(text)
        self._waiting.append(_fitting(line))
        if self._timer is None:
            with contextlib.suppress(RuntimeError):  # without an event loop it is written by `close`
                self._timer = asyncio.get_running_loop().call_later(SOON, self.flush)

    def skip(self, count: int) -> None:
        """Count lines that are not written."""
        self._open()
        self.number += max(0, count)

    def take(self, event: machine.Event) -> None:
        """Add a line for an event of the run that people look for among the output."""
        match event:
            case machine.AgentActed():
                self.add(event.path, event.kind, event.text)
            case machine.Asked():
                self.add(event.path, "asked", str(event.question.get("title") or "a question"))
            case machine.Answered():
                self.add(event.path, *answer_words(event.values))
            case machine.Delayed():
                self.add(event.path, "delayed", event.reason)
            case machine.StepDone():
                self.add(event.path, "done", "")
            case machine.StepFailed():
                self.add(event.path, "failed", event.message)
            case _:
                return

    def hear(self, path: str, said: AgentSaid) -> None:
        """Add what an agent says and what its tools return. What it does comes as an event."""
        if said.kind == "text":
            self._add_lines(path, "text", str(said.data.get("text") or ""), AT_ONCE)
        elif said.kind == "result":
            output = said.data.get("output")
            self._add_lines(path, "out", output if isinstance(output, str) else "", OF_RESULT)

    def _add_lines(self, path: str, kind: str, text: str, most: int) -> None:
        found = [line for line in text.splitlines() if line.strip()]
        self.skip(len(found) - most)
        for line in found[-most:]:
            self.add(path, kind, line)

    def flush(self) -> None:
        """Write what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        data = b"".join(self._waiting)
        self._waiting.clear()
        if not data or self._handle is None:
            return
        try:
            if self._end + len(data) > MOST_BYTES:
                self._drop_older_half()
            _write(self._handle, data, self._end)
            self._end += len(data)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._handle, self._end)

    def close(self) -> None:
        self.flush()
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _open(self) -> None:
        """Open the file, and continue after its last complete line."""
        if self._handle is not None:
            return
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, files.PRIVATE)
            size = os.fstat(handle).st_size
            data = os.pread(handle, LAST, max(0, size - LAST))
            whole = data[: data.rfind(b"\n") + 1]
            self._end = size - (len(data) - len(whole))
            os.ftruncate(handle, self._end)
        except OSError:
            return
        known = [found["n"] for line in whole.split(b"\n") if (found := lines.decode(line)) is not None]
        self._handle, self.number = handle, max([self.number, *known])

    def _drop_older_half(self) -> None:
        assert self._handle is not None
        data = os.pread(self._handle, self._end, 0)
        kept = data[data.find(b"\n", len(data) // 2) + 1 :]
        files.write_whole(self.path, kept, durable=False)
        os.close(self._handle)
        self._handle = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        self._end = len(kept)


class Output:
    """The output of one program, line by line. Incomplete lines wait for their rest; long ones are cut."""

    def __init__(self, activity: Activity, path: str) -> None:
        self.activity = activity
        self.path = path
        self._rest = b""

    def __call__(self, piece: bytes) -> None:
        *whole, rest = (self._rest + piece).split(b"\n")
        self._rest = rest[:LAST]
        self.activity.skip(len(whole) - AT_ONCE)
        for line in whole[-AT_ONCE:]:
            self._add(line)

    def end(self) -> None:
        if self._rest:
            self._add(self._rest)
        self._rest = b""

    def _add(self, line: bytes) -> None:
        self.activity.add(self.path, "out", line[:LAST].decode("utf-8", "replace"))


def read(path: str, since: Mark | None, most: int | None = None) -> tuple[list[dict[str, Any]], Mark | None]:
    """The lines after a mark, and the next mark. If the file was replaced, all its lines: compare their numbers.

    With `most`, only the last lines.
    """
    try:
        found = os.stat(path)
        known, offset = since or (found.st_ino, 0)
        if known != found.st_ino or offset > found.st_size:
            offset = 0
        if since is not None and offset == found.st_size:
            return [], since
        data = files.read_regular(path, offset)
    except OSError:
        return [], None
    whole = data[: data.rfind(b"\n") + 1]
    written = whole.split(b"\n")[:-1]
    wanted = written if most is None else written[-most:]
    values = [value for line in wanted if (value := lines.decode(line)) is not None]
    return values, (found.st_ino, offset + len(whole))


def _fitting(line: dict[str, Any]) -> bytes:
    """The line as bytes. Its text is cut if it is too long."""
    line["text"] = line["text"][:LONGEST_LINE]
    data = lines.encode(line)
    while len(data) > LONGEST_LINE and line["text"]:
        line["text"] = line["text"][: len(line["text"]) * 2 // 3]
        data = lines.encode(line)
    return data


def _write(handle: int, data: bytes, at: int) -> None:
    done = 0
    while done < len(data):
        done += os.pwrite(handle, data[done:], at + done)
