"""What the command line prints: data to stdout, messages to stderr, colours only on a terminal.

Every command imports this module, so it imports little.
"""

from __future__ import annotations

import os
import sys
import time

from handrail.source.plain import plain_lines
from handrail.state import jsonlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TextIO

    from handrail.errors import HandrailError

BOLD, DIM, RED, YELLOW = "1", "2", "31", "33"


def styled(text: str, *codes: str, err: bool = False) -> str:
    """The text in these colours, if its stream shows colours."""
    stream = sys.stderr if err else sys.stdout
    return "".join(f"\x1b[{code}m" for code in codes) + text + "\x1b[0m" if shows_colour(stream) else text


def shows_colour(stream: TextIO) -> bool:
    return wants_colour(os.environ) is None and stream.isatty()


def wants_colour(env: Mapping[str, str]) -> bool | None:
    """False if `NO_COLOR` is set; otherwise None, and the stream decides."""
    return False if env.get("NO_COLOR") else None


def echo(text: str = "", *, err: bool = False) -> bool:
    """Print a line and flush it, so that lines of both streams keep their order.

    If the reader of the stream left, this line and all later ones are dropped, and the command goes on. False if it
    left just now.
    """
    stream = sys.stderr if err else sys.stdout
    try:
        stream.write(f"{text}\n")
        stream.flush()
    except (BrokenPipeError, ConnectionResetError):
        _discard(stream)
        return False
    return True


def _discard(stream: TextIO) -> None:
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
        """Print the one object of `--json`."""
        echo(as_json(value, indent=2 if sys.stdout.isatty() else None))

    def say(self, text: str = "") -> None:
        """Print the result for people; prints nothing with `--json`."""
        if not self.as_json:
            echo(text)

    def talk(self, text: str) -> None:
        """Print progress and notes to stderr, unless `--quiet` is given."""
        if not self.quiet:
            echo(plain_lines(text), err=True)


def print_error(error: HandrailError, *, to_json: bool) -> None:
    """Print an error for people, and with `--json` also one object for programs."""
    message = plain_lines(_shorter(error.message))
    hint = plain_lines(_shorter(error.hint)) if error.hint else None
    if to_json:
        echo(as_json({"error": {"code": error.code, "message": message, "hint": hint}}))
    echo(f"{styled('error', RED, BOLD, err=True)}: {message}", err=True)
    if hint:
        echo(f"{styled('hint', BOLD, err=True)}: {hint}", err=True)


def _shorter(text: str) -> str:
    """The text with paths relative to the working directory."""
    try:
        here = os.getcwd()
    except OSError:
        return text
    return text.replace(here + "/", "") if here != "/" else text


def time_of_day(moment: float) -> str:
    """A point in time as local time of day."""
    return time.strftime("%H:%M:%S", time.localtime(moment))
