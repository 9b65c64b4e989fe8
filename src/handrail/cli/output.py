"""What the command line prints: data to stdout, messages to stderr, colours only on a terminal.

Every command imports this module, so it imports little.
"""

from __future__ import annotations

import os
import sys
import time

from handrail.base import jsonlite
from handrail.source.plain_text import plain_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TextIO

    from handrail.base.errors import HandrailError

BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "31", "32", "33", "36"
SIGN_COLOURS = {"✓": GREEN, "✗": RED, "●": CYAN, "○": DIM, "·": DIM, "?": YELLOW, "!": YELLOW, "■": YELLOW}
SHOWN_PROBLEMS = 5
"""How many errors of a definition are printed if it is to be used. `handrail validate` prints all."""
NO_TERMINAL = 400
"""How wide a line may be if the output is not a terminal."""


def styled(text: str, *codes: str, err: bool = False) -> str:
    stream = sys.stderr if err else sys.stdout
    return "".join(f"\x1b[{code}m" for code in codes) + text + "\x1b[0m" if shows_colour(stream) else text


def painted(line: str, *, err: bool = False) -> str:
    """The line with its sign in colour: the first one after spaces, or after a time and spaces."""
    return in_colour(line) if shows_colour(sys.stderr if err else sys.stdout) else line


def in_colour(line: str) -> str:
    """The line with its sign in colour. Does not ask whether the stream shows colours."""
    begin = line.lstrip()
    start = len(line) - len(begin)
    if begin[:8].count(":") == 2 and begin[8:10] == "  ":
        begin = begin[8:].lstrip()
        start = len(line) - len(begin)
        head = f"\x1b[{DIM}m{line[:8]}\x1b[0m{line[8:start]}"
    else:
        head = line[:start]
    colour = SIGN_COLOURS.get(begin[:1]) if begin[1:2] == " " else None
    return f"{head}\x1b[{colour}m{begin[0]}\x1b[0m{begin[1:]}" if colour else head + begin


def painted_status(line: str) -> str:
    """The line with the sign of its status in colour: the first one between two spaces."""
    if not shows_colour(sys.stdout):
        return line
    signs = [(line.find(f" {sign} "), sign) for sign in SIGN_COLOURS]
    start, sign = min(((start, sign) for start, sign in signs if start >= 0), default=(-1, ""))
    return line if start < 0 else f"{line[: start + 1]}\x1b[{SIGN_COLOURS[sign]}m{sign}\x1b[0m{line[start + 2 :]}"


def size_of(stream: TextIO | None, columns: int = 80) -> tuple[int, int]:
    """The columns and lines of a terminal; `columns` and 24 if they are not known."""
    try:
        size = os.get_terminal_size(stream.fileno()) if stream is not None else os.terminal_size((0, 0))
    except (OSError, ValueError, AttributeError):
        return columns, 24
    return size.columns or columns, size.lines or 24


def width() -> int:
    """The width of the terminal, or of a line if the output is no terminal."""
    return size_of(sys.stdout, NO_TERMINAL)[0]


def terminal_columns(env: Mapping[str, str]) -> int:
    """The width of the terminal, as `shutil.get_terminal_size` finds it; 80 if it is not known."""
    try:
        columns = int(env["COLUMNS"])
    except (KeyError, ValueError):
        columns = 0
    return columns if columns > 0 else size_of(sys.__stdout__)[0]


def has_terminal(env: Mapping[str, str]) -> bool:
    """True if a person reads stdout and types into stdin, and the terminal can move its cursor."""
    is_dumb = env.get("TERM", "") in ("", "dumb", "unknown")
    return not is_dumb and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def shows_colour(stream: TextIO) -> bool:
    return wants_colour(os.environ) is None and stream.isatty()


def wants_colour(env: Mapping[str, str]) -> bool | None:
    """False if `NO_COLOR` is set; otherwise None, and the stream decides."""
    return False if env.get("NO_COLOR") else None


def echo(text: str = "", *, err: bool = False) -> bool:
    """Print a line and flush it, so that lines of both streams keep their order.

    If the reader of the stream left, this line and all later ones are dropped, and the command goes on. False if it
    left just now. So it is if stderr cannot be written to; but that stdout cannot is an error: it has the result.
    """
    stream = sys.stderr if err else sys.stdout
    try:
        stream.write(f"{text}\n")
        stream.flush()
    except (OSError, ValueError) as error:
        discard(stream)
        if not err and not isinstance(error, BrokenPipeError | ConnectionResetError):
            raise
        return False
    return True


def echo_bytes(data: bytes) -> None:
    """Write data to stdout unchanged. If the reader left, the rest is dropped."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except (BrokenPipeError, ConnectionResetError):
        discard(sys.stdout)


def discard(stream: TextIO) -> None:
    """Send a stream whose reader left to nowhere, including what it still buffers."""
    try:
        handle = os.open(os.devnull, os.O_WRONLY)
        os.dup2(handle, stream.fileno())
        os.close(handle)
    except (OSError, ValueError):  # not a real file
        return


def has_reader(stream: TextIO) -> bool:
    """False if the stream is a pipe or a socket whose other end is closed."""
    import select

    try:
        watch = select.poll()
        watch.register(stream.fileno(), 0)  # errors are always reported
        return not any(event & (select.POLLERR | select.POLLHUP) for _, event in watch.poll(0))
    except (OSError, ValueError, AttributeError):  # not a real file, or a system without `poll`
        return True


def as_json(value: Any, indent: int | None = None) -> str:
    if indent is None:
        return jsonlite.dumps_spaced(value)
    import json

    return json.dumps(value, ensure_ascii=False, indent=indent)


class Shell:
    """How one invocation prints its output."""

    def __init__(self, cwd: str, *, as_json: bool, quiet: bool) -> None:
        self.cwd = cwd
        self.as_json = as_json
        self.quiet = quiet

    def data(self, value: dict[str, Any]) -> None:
        echo(as_json(value, indent=2 if sys.stdout.isatty() else None))

    def say(self, text: str = "") -> None:
        """Print the result for people; prints nothing with `--json`."""
        if not self.as_json:
            echo(text)

    def talk(self, text: str) -> None:
        """Print progress and notes to stderr, unless `--quiet` is given."""
        if not self.quiet:
            echo(plain_lines(text), err=True)

    def insist(self, text: str) -> None:
        """Print to stderr what a person has to know, also with `--quiet`."""
        echo(plain_lines(text), err=True)


def print_error(error: HandrailError, *, to_json: bool) -> None:
    """Print an error for people, and with `--json` also one object for programs."""
    message = plain_lines(_shorter(error.message))
    hint = plain_lines(_shorter(error.hint)) if error.hint else None
    problems = getattr(error, "problems", ())
    if to_json:
        rows = [{**problem.to_json(), "file": _shorter(problem.file)} for problem in problems]
        more = {"problems": rows} if rows else {}
        try:  # noqa: SIM105 - every command imports this module
            echo(as_json({"error": {"code": error.code, "message": message, "hint": hint, **more}}))
        except (OSError, ValueError):  # stderr says it, too
            pass
    echo(f"{styled('error', RED, BOLD, err=True)}: {message}", err=True)
    for problem in problems[:SHOWN_PROBLEMS]:
        from handrail.source.diagnostics import diagnostic_text

        echo(_shorter(diagnostic_text(problem)), err=True)
    if hint:
        echo(f"{styled('hint', BOLD, err=True)}: {hint}", err=True)


def _shorter(text: str) -> str:
    """The text with paths relative to the working directory."""
    try:
        folder = os.getcwd()
    except OSError:
        return text
    return text.replace(folder + "/", "") if folder != "/" else text


def time_of_day(moment: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(moment))


def date_of(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(moment))


def date_and_time(moment: float) -> str:
    """A point in time as local date and time, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))
