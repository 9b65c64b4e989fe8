"""Starts the small programs in the `children` folders of the tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent


def spawn(program: str, *arguments: object) -> subprocess.Popen[str]:
    """Start `ROOM/NAME.py` from `tests/ROOM/children`."""
    return subprocess.Popen(_argv(program, arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def output_of(program: str, *arguments: object) -> str:
    argv = _argv(program, arguments)
    return subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True, timeout=120).stdout


def _argv(program: str, arguments: tuple[object, ...]) -> list[str]:
    room, name = program.rsplit("/", 1)
    return [sys.executable, str(TESTS / room / "children" / name), *map(str, arguments)]
