"""What agents and programs of a run do and print while they work: as events, and as lines in a file.

The file of numbered lines is next to the journal. It is for people who look at a run, and no run depends on it: it is
not synced, it is limited, and if it cannot be written, its lines are lost. Lines that came too fast are not written,
but they are counted: their numbers are missing. Secrets are masked. A reader skips a line that a kill left incomplete.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from handrail.base import files, jsonlite
from handrail.driven.engines.embedded.run_folders import ACTIVITY
from handrail.driven.runs import run_events
from handrail.driven.runs.summary import answer_words
from handrail.extensions.contracts import AgentSaid, GuideNews, NodeError
from handrail.settings.secrets import Secrets
from handrail.source.output_text import LAST_LINES
from handrail.source.plain_text import joined_lines
from handrail.source.values import shown

SHORT = 200
LONG = 2_000
MAIN_ARGUMENTS = (
    "command", "cmd", "pattern", "query", "url", "file_path", "filePath", "path", "absolute_path", "notebook_path",
    "prompt",
)  # fmt: skip
"""The argument that says most about a call, by the names that agents have for it."""


def call_words(name: str, inputs: Any) -> str:
    """A call of a tool in one line: `edit src/cart.py`. All inputs, as JSON, if none of them says most.

    Some agents give a call a title that names the argument already.
    """
    main = next((inputs[key] for key in MAIN_ARGUMENTS if inputs.get(key)), None) if isinstance(inputs, dict) else None
    if isinstance(main, list):
        main = " ".join(map(str, main))
    if isinstance(main, str):
        about = joined_lines(main)
        return name if about in name else f"{name} {about}"
    return f"{name} {json.dumps(inputs, ensure_ascii=False)}" if inputs else name


class AgentEvents:
    """Follows the agent of one step. For each call of the agent, the last usage report counts."""

    def __init__(self) -> None:
        self.usages: list[dict[str, Any]] = []
        self._usage: dict[str, Any] | None = None

    def settle(self) -> list[dict[str, Any]]:
        """The usage of every call, including an interrupted one."""
        last = [] if self._usage is None else [self._usage]
        self.usages, self._usage = self.usages + last, None
        return self.usages

    def events(self, path: str, item: AgentSaid, secrets: Secrets) -> Iterator[run_events.Event]:
        data = item.data
        match item.kind:
            case "session":
                yield run_events.SessionOpened(path, str(data.get("agent", "")), str(data["id"]))
            case "usage":
                self._usage = data
            case "finished":
                self.settle()
            case "guided":
                news: GuideNews = data["news"]
                yield run_events.Guided(path, **{**vars(news), "text": shown(secrets.mask(news.text), LONG)})
            case "tool" | "denied" | "allowed" | "plan" | "retry" | "again":
                text = str(data.get("text" if item.kind == "plan" else "message"))
                if item.kind == "tool":
                    text = call_words(str(data.get("name")), secrets.for_people(data.get("input")))
                elif item.kind in ("denied", "allowed"):
                    text = f"{data.get('name')}: {data.get('reason')}"
                yield run_events.AgentActed(path, item.kind, shown(secrets.mask(text), SHORT))


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
        self.path = os.path.join(folder, ACTIVITY)
        self.clock = clock
        self.secrets = secrets
        self.number = 0
        self._waiting: deque[dict[str, Any]] = deque(maxlen=AT_ONCE)
        self._handle: int | None = None
        self._end = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, node: str, kind: str, text: str) -> None:
        self._open()
        self.number += 1
        if len(text) > LONGEST_LINE:
            text = self.secrets.mask(text)[:LONGEST_LINE]  # no secret is cut into a part that is not recognised
        self._waiting.append({"n": self.number, "t": round(self.clock(), 3), "node": node, "kind": kind, "text": text})
        if self._timer is None:
            with contextlib.suppress(RuntimeError):  # without an event loop it is written by `close`
                self._timer = asyncio.get_running_loop().call_later(SOON, self.flush)

    def touch(self) -> None:
        """Something was printed that is no line yet: the time of the file says so."""
        self._open()
        if self._handle is not None and not self._waiting:
            with contextlib.suppress(OSError):
                os.utime(self._handle)

    def skip(self, count: int) -> None:
        """Count lines that are not written."""
        self._open()
        self.number += max(0, count)

    def take(self, event: run_events.Event) -> None:
        """Add a line for an event of the run that people look for among the output."""
        match event:
            case run_events.AgentActed():
                self.add(event.path, event.kind, event.text)
            case run_events.Asked():
                self.add(event.path, "asked", str(event.question.get("title") or "a question"))
            case run_events.Answered():
                self.add(event.path, *answer_words(event.values))
            case run_events.Delayed():
                self.add(event.path, "delayed", event.reason)
            case run_events.StepDone():
                self.add(event.path, "done", "")
            case run_events.StepFailed():
                self.add(event.path, "failed", event.message)
            case _:
                return

    def hear(self, path: str, item: AgentSaid) -> None:
        """Add what an agent says and what its tools return. What it does comes as an event."""
        if item.kind == "text":
            self._add_lines(path, "text", str(item.data.get("text") or ""), AT_ONCE)
        elif item.kind == "result":
            output = item.data.get("output")
            self._add_lines(path, "out", output if isinstance(output, str) else "", OF_RESULT)

    def _add_lines(self, path: str, kind: str, text: str, most: int) -> None:
        found = [line for line in text.splitlines() if line.strip()]
        self.skip(len(found) - most)
        for line in found[-most:]:
            self.add(path, kind, line)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        data = b"".join(_fitting({**line, "text": self.secrets.mask(line["text"])}) for line in self._waiting)
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
        known = [found["n"] for line in whole.split(b"\n") if (found := jsonlite.decode_line(line)) is not None]
        self._handle, self.number = handle, max([self.number, *known])

    def _drop_older_half(self) -> None:
        assert self._handle is not None
        data = os.pread(self._handle, self._end, 0)
        newer = data[data.find(b"\n", len(data) // 2) + 1 :]
        files.write_whole(self.path, newer, durable=False)
        os.close(self._handle)
        self._handle = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        self._end = len(newer)


class ProgramOutput:
    """The output of one program, line by line. Incomplete lines wait for their rest; long ones are cut.

    `with output:` ends it. A `NodeError` that does not say what the program printed gets the last lines.
    """

    def __init__(self, activity: Activity, path: str) -> None:
        self.activity = activity
        self.path = path
        self._rest = b""
        self._last: deque[str] = deque(maxlen=LAST_LINES)

    def __call__(self, piece: bytes) -> None:
        *whole, rest = (self._rest + piece).split(b"\n")
        self._rest = rest[:LAST]
        self.activity.skip(len(whole) - AT_ONCE)
        for line in whole[-AT_ONCE:]:
            self._add(line)
        if not whole:
            self.activity.touch()

    def end(self) -> None:
        if self._rest:
            self._add(self._rest)
        self._rest = b""

    def _add(self, line: bytes) -> None:
        text = line[:LAST].decode("utf-8", "replace")
        self._last.append(text)
        self.activity.add(self.path, "out", text)

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self.end()
        if isinstance(error, NodeError):
            error.output = error.output or "\n".join(self._last)


def read_activity(path: str, since: Mark | None, most: int | None = None) -> tuple[list[dict[str, Any]], Mark | None]:
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
    values = [value for line in wanted if (value := jsonlite.decode_line(line)) is not None]
    return values, (found.st_ino, offset + len(whole))


def _fitting(line: dict[str, Any]) -> bytes:
    """The line as bytes. Its text is cut if it is too long."""
    line["text"] = line["text"][:LONGEST_LINE]
    data = jsonlite.encode_line(line)
    while len(data) > LONGEST_LINE and line["text"]:
        line["text"] = line["text"][: len(line["text"]) * 2 // 3]
        data = jsonlite.encode_line(line)
    return data


def _write(handle: int, data: bytes, at: int) -> None:
    done = 0
    while done < len(data):
        done += os.pwrite(handle, data[done:], at + done)
