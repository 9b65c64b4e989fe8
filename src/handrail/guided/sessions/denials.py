"""The denied calls of an agent: a file `trail` beside the session's journal, one line of JSON per call.

A hook imports this only when it denies a call, and it must be quick even then: so every value of the environment that
is not a path is hidden, whether it is a secret or not. The file is for people: a line that cannot be written is left
out. If the file gets too large, its older half is dropped. Standard library only.
"""

from __future__ import annotations

import os

from handrail.base import files, jsonlite
from handrail.base.record import Record
from handrail.guided.sessions.hook_files import WORKED, append, mark_text
from handrail.source.plain_text import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from handrail.extensions.contracts.messages import CallArguments, Verdict
    from handrail.guided.sessions.machine import State

TRAIL_FILE = "trail"
MOST_BYTES = 256 * 1024
EXCERPT, REASON = 200, 300
"""Characters that are kept of what a call does, and of the reason."""
HIDDEN, SHORTEST = "[hidden]", 8
"""Shorter values are not looked for: they would be found everywhere."""


class Denial(Record):
    """A denied call. `excerpt` is what it would have done: its command, or the paths that it writes or reads.

    `is_work`: it would have written or run something.
    """

    at: float
    tool: str
    rule: str
    reason: str
    excerpt: str
    is_work: bool = False


def add_denial(
    folder: str, verdict: Verdict, call: CallArguments, env: Mapping[str, str], at: float, *, is_work: bool
) -> None:
    """Append a denied call. Values of the environment and whatever controls a screen are taken out first."""
    secrets = [value for value in env.values() if len(value) >= SHORTEST and not value.startswith("/")]

    def clean(text: str | None, most: int) -> str:
        text = text or ""
        for value in secrets:
            text = text.replace(value, HIDDEN)
        return "".join(char if char.isprintable() else " " for char in text[:most])

    action = call["runs"] or " ".join(call["writes"] or call["reads"])
    line = {"t": at, "tool": clean(verdict["tool"], 80), "rule": verdict["rule"]}
    line |= {"reason": clean(verdict["reason"], REASON), "excerpt": clean(action, EXCERPT), "work": is_work}
    path = os.path.join(folder, TRAIL_FILE)
    try:
        append(path, jsonlite.dumps(line).encode("utf-8", "replace") + b"\n")
        if files.size(path) > MOST_BYTES:
            lines = files.read_regular(path).splitlines(keepends=True)
            files.replace(path, b"".join(lines[len(lines) // 2 :]), durable=False)
    except OSError:
        return


def read_trail(folder: str, offset: int = 0) -> tuple[list[Denial], int]:
    """The denied calls after an offset, and the offset for the next call. What cannot be read is left out."""
    try:
        data = files.read_regular(os.path.join(folder, TRAIL_FILE), offset)
    except OSError:
        return [], offset
    end = data.rfind(b"\n") + 1
    denials = map(_denial, data[:end].splitlines())
    return [denial for denial in denials if denial is not None], offset + end


def trail_size(folder: str) -> int:
    """The size of the file in bytes; 0 if there is none."""
    return files.size(os.path.join(folder, TRAIL_FILE))


def _denial(line: bytes) -> Denial | None:
    try:
        data = jsonlite.loads(line.decode())
        at, tool, rule, reason, excerpt = [data[name] for name in ("t", "tool", "rule", "reason", "excerpt")]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    is_whole = isinstance(at, int | float) and all(isinstance(text, str) for text in (tool, rule, reason, excerpt))
    return Denial(float(at), tool, rule, reason, excerpt, data.get("work") is True) if is_whole else None


def denials_since(folder: str, started: float) -> list[Denial]:
    """The denied calls of the task that began at this time."""
    return [denial for denial in read_trail(folder)[0] if denial.at >= started]


def tool_counts(denials: Iterable[Denial]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for denial in denials:
        counts[denial.tool] = counts.get(denial.tool, 0) + 1
    return counts


def denied_words(tools: Mapping[str, int]) -> str:
    """`3 calls were denied: edit 2, bash 1`; empty if none was."""
    number = sum(tools.values())
    names = ", ".join(f"{tool} {count}" for tool, count in tools.items())
    return f"{counted(number, 'call')} {'was' if number == 1 else 'were'} denied: {names}" if number else ""


def is_all_work_denied(folder: str, state: State) -> bool:
    """True if calls of the task that write or run something were denied, and none of them was allowed."""
    was_denied = any(denial.is_work for denial in denials_since(folder, state.started))
    return was_denied and mark_text(folder, WORKED) != state.task_id
