"""Tests that are run once more: what failed at first is never hidden."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """\
from pathlib import Path

def test_well():
    pass

def test_at_times():
    first = Path("first")
    is_first = not first.exists()
    first.touch()
    assert not is_first, "the words of the first failure"

def test_never():
    assert {always}
"""
FILE = "kept/first-failures.txt"


def twice(folder: Path, always: bool, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(TESTS.format(always=always))
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    argv = [sys.executable, "-m", "twice", FILE, "test_it.py", *options]
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("options", [(), ("-n2",)], ids=["one after the other", "in parallel"])
def test_a_test_that_passed_alone_is_named_at_the_end_and_its_text_is_kept(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    ended = twice(tmp_path, True, *options)
    assert ended.returncode == 0, ended
    assert "the words of the first failure" in (tmp_path / FILE).read_text()
    end = ended.stdout.rpartition("passed alone: find out why")[2]
    assert "test_it.py::test_at_times" in end
    assert "test_well" not in end
    assert "1 passed" in ended.stdout, "alone"


def test_a_test_that_fails_twice_fails(tmp_path: Path) -> None:
    ended = twice(tmp_path, False)
    assert ended.returncode == 1
    assert "test_it.py::test_never" in ended.stdout.rpartition("These failed twice")[2]


def test_nothing_is_kept_of_an_earlier_failure_when_all_pass(tmp_path: Path) -> None:
    twice(tmp_path, True)
    assert (tmp_path / FILE).exists()
    assert twice(tmp_path, True).returncode == 0
    assert not (tmp_path / FILE).exists()
