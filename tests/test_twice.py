"""Tests that failed are run again, but the first failure is never hidden."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """\
from pathlib import Path

def test_stable():
    pass

def test_flaky():
    first = Path("first")
    is_first = not first.exists()
    first.touch()
    assert not is_first, "the message of the first failure"

def test_always_fails():
    assert {last_passes}
"""
FILE = "kept/first-failures.txt"


def twice(folder: Path, last_passes: bool, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(TESTS.format(last_passes=last_passes))
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    argv = [sys.executable, "-m", "twice", FILE, "test_it.py", *options]
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.whole
@pytest.mark.parametrize("options", [(), ("-n2",)], ids=["one after the other", "in parallel"])
def test_a_test_that_passes_alone_is_listed_at_the_end_and_its_failure_is_saved(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    ended = twice(tmp_path, True, *options)
    assert ended.returncode == 0, ended
    assert "the message of the first failure" in (tmp_path / FILE).read_text()
    end = ended.stdout.rpartition("passed alone: find out why")[2]
    assert "test_it.py::test_flaky" in end
    assert "test_stable" not in end
    assert "1 passed" in ended.stdout, "alone"


@pytest.mark.whole
def test_a_test_that_fails_twice_fails(tmp_path: Path) -> None:
    ended = twice(tmp_path, False)
    assert ended.returncode == 1
    assert "test_it.py::test_always_fails" in ended.stdout.rpartition("These failed twice")[2]


@pytest.mark.whole
def test_the_saved_failures_are_removed_when_all_tests_pass(tmp_path: Path) -> None:
    twice(tmp_path, True)
    assert (tmp_path / FILE).exists()
    assert twice(tmp_path, True).returncode == 0
    assert not (tmp_path / FILE).exists()
