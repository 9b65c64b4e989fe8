"""Reports a bug in Handrail: writes what a maintainer needs to a file, and prints its path."""

from __future__ import annotations

import os
import platform
import traceback

from handrail import __version__
from handrail.base.errors import HandrailError
from handrail.base.files import make_private
from handrail.cli.output import echo
from handrail.settings.folders import UserFolders
from handrail.settings.secrets import Secrets


def write_report(error: Exception, argv: list[str]) -> int:
    """Write the report, print its path, and return the exit code."""
    text = "\n".join(
        [
            f"handrail {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}",
            f"command: {argv[:1]}",
            "",
            "".join(traceback.format_exception(error)),
        ]
    )
    mask = Secrets(os.environ).mask
    text = mask(text)
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
