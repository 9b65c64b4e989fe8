"""What a program prints is read in lines: as many at once as are there, and none is lost or mixed up."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from handrail.base import processes
from handrail.base.processes import RunningProgram, Task


def batches(folder: Path, code: str) -> list[list[bytes]]:
    """The lines of a Python program, in the parts in which they were read."""
    argv = [sys.executable, "-c", f"import os, sys, time\n{code}"]

    async def read() -> list[list[bytes]]:
        task = Task(argv=argv, cwd=str(folder), env=dict(os.environ), timeout=60)
        async with RunningProgram(task) as program:
            return [lines async for lines in program.lines()]

    return asyncio.run(read())


def test_lines_come_in_order_and_the_last_one_needs_no_end(tmp_path: Path) -> None:
    found = batches(tmp_path, "sys.stdout.write(''.join(f'{n}\\n' for n in range(20_000)) + 'end')")
    assert [line for part in found for line in part] == [*(b"%d" % number for number in range(20_000)), b"end"]


def test_many_short_lines_take_few_turns(tmp_path: Path) -> None:
    assert len(batches(tmp_path, "sys.stdout.write('{}\\n' * 200_000)")) < 1_000


def test_a_line_that_comes_in_pieces_is_one_line(tmp_path: Path) -> None:
    found = batches(tmp_path, "for part in (b'a' * 70_000, b'b\\n\\nc'):\n    os.write(1, part)")
    assert [line for part in found for line in part] == [b"a" * 70_000 + b"b", b"", b"c"]


def test_a_line_that_is_too_long_is_skipped_and_the_next_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "MAX_LINE", 100_000)
    found = batches(tmp_path, "sys.stdout.write('x' * 300_000 + '\\nshort\\n' + 'y' * 90_000 + '\\n')")
    assert [line for part in found for line in part] == [b"short", b"y" * 90_000]
