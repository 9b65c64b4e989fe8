"""The command `handrail`. Only this module turns errors into exit codes. Imports as little as possible."""

from __future__ import annotations

import gc
import io
import os
import sys

from handrail.base.errors import HandrailError, system_error
from handrail.cli import invocation
from handrail.cli.output import as_json, discard, echo, print_error

COLLECTION = (20_000, 50, 100)
"""How often Python looks for unused objects: seldom, because each look costs more if a definition is large."""


def main(argv: list[str]) -> int:
    """Run a command line and return its exit code."""
    try:
        return _exit_code(argv)
    finally:  # drop what a stream could not write: else Python would try again at its end, and exit with 120
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                discard(stream)


def _exit_code(argv: list[str]) -> int:
    to_json = "--json" in argv
    gc.set_threshold(*COLLECTION)
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        if (call := invocation.parse(argv, os.environ)) is not None:
            call()
        else:
            from handrail.cli import group  # click, which takes three times as long as Python

            group.run(argv)
    except HandrailError as error:
        print_error(error, to_json=to_json)
        return error.exit_code
    except KeyboardInterrupt:
        echo("interrupted", err=True)
        return 130
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except BrokenPipeError:  # of a part that does not print with `echo`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print_error(system_error(error), to_json=to_json)
        return 1
    except Exception as error:  # noqa: BLE001 - the outermost edge: a bug becomes a report, not a traceback
        if to_json:
            echo(as_json({"error": {"code": "bug", "message": f"{type(error).__name__}: {error}", "hint": None}}))
        return write_report(error, argv)
    return 0


def _open_streams() -> None:
    """If the caller closed a stream (`>&-`), Python has none there; what is printed goes nowhere.

    Its descriptor is opened, too: else the next file gets it, and programs that are started write into that file.
    """
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(handle, True)
    os.close(handle)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open until the process ends


def write_report(error: Exception, argv: list[str]) -> int:
    """Write a report of a bug, print its path, and return the exit code."""
    import platform
    import traceback

    from handrail import __version__
    from handrail.base.files import make_private
    from handrail.settings.folders import UserFolders
    from handrail.settings.secrets import Secrets

    mask = Secrets(os.environ).mask
    version = f"handrail {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    text = mask(f"{version}\ncommand: {argv[:1]}\n\n{''.join(traceback.format_exception(error))}")
    folder = os.path.join(UserFolders(os.environ).state, "reports")
    path = os.path.join(folder, f"bug-{os.getpid()}.txt")
    echo(mask(f"error: this is a bug in Handrail: {type(error).__name__}: {error}"), err=True)
    try:
        make_private(folder)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        echo(f"hint: the report `{path}` has the details; please send it", err=True)
    except (OSError, HandrailError):
        echo(text, err=True)
    if "-v" in argv or "--verbose" in argv:
        echo(text, err=True)
    return 70
