"""The denied calls of an agent: a file `trail` beside the session's journal, one line of JSON per call.

A hook imports this only when it denies a call, and it must be quick even then: so every value of the environment that
is not a path is hidden, whether it is a secret or not. The file is for people, and no decision depends on it: a line
that cannot be written is left out. If the file gets too large, its older half is dropped. Standard library only.
"""

from __future__ import annotations

import os

from handrail.base import files, jsonlite
from handrail.base.record import Record
from handrail.guided.sessions.hook_files import append

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from handrail.extensions.contracts.messages import CallArguments, Verdict

TRAIL_FILE = "trail"
MOST_BYTES = 256 * 1024
EXCERPT, REASON = 200, 300
"""Characters that are kept of what a call does, and of the reason."""
HIDDEN, SHORTEST = "[hidden]", 8
"""Shorter values are not looked for: they would be found everywhere."""


class Denial(Record):
    """A denied call. `excerpt` is what it would have done: its command, or the paths that it writes or reads."""

    at: float
    tool: str
    rule: str
    reason: str
    excerpt: str


class Trail(Record):
    """What a trail file says from an offset on. `end` is the offset after its last whole line."""

    denials: tuple[Denial, ...]
    end: int


def add_denial(folder: str, verdict: Verdict, call: CallArguments | None, env: Mapping[str, str], at: float) -> None:
    """Append a denied call. Values of the environment and whatever controls a screen are taken out first."""
    secrets = [value for value in env.values() if len(value) >= SHORTEST and not value.startswith("/")]

    def clean(text: str | None, most: int) -> str:
        text = text or ""
        for value in secrets:
            text = text.replace(value, HIDDEN)
        return "".join(char if char.isprintable() else " " for char in text[:most])

    action = call["runs"] or " ".join(call["writes"] or call["reads"]) if call is not None else ""
    line = {"t": at, "tool": clean(verdict["tool"], 80), "rule": verdict["rule"]}
    line |= {"reason": clean(verdict["reason"], REASON), "excerpt": clean(action, EXCERPT)}
    path = os.path.join(folder, TRAIL_FILE)
    try:
        append(path, jsonlite.dumps(line).encode("utf-8", "replace") + b"\n")
        if os.stat(path).st_size > MOST_BYTES:
            lines = files.read_regular(path).splitlines(keepends=True)
            files.replace(path, b"".join(lines[len(lines) // 2 :]), durable=False)
    except OSError:
        return


def read_trail(folder: str, offset: int = 0) -> Trail:
    """The denied calls after an offset. Lines that cannot be read are left out; so is a file that cannot be read."""
    try:
        data = files.read_regular(os.path.join(folder, TRAIL_FILE), offset)
    except OSError:
        return Trail((), offset)
    end = data.rfind(b"\n") + 1
    denials = map(_denial, data[:end].splitlines())
    return Trail(tuple(denial for denial in denials if denial is not None), offset + end)


def trail_size(folder: str) -> int:
    """The size of the file in bytes; 0 if there is none."""
    try:
        return os.stat(os.path.join(folder, TRAIL_FILE)).st_size
    except OSError:
        return 0


def _denial(line: bytes) -> Denial | None:
    try:
        data = jsonlite.loads(line.decode())
        at, *texts = [data[name] for name in ("t", "tool", "rule", "reason", "excerpt")]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    is_whole = isinstance(at, int | float) and all(isinstance(text, str) for text in texts)
    return Denial(float(at), *texts) if is_whole else None
