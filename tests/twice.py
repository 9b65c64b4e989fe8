"""Runs tests, then runs the failed tests again, alone. The first failures are printed, saved and listed at the end.

`python -m twice FILE PYTEST-ARGUMENTS`: FILE gets the text of the first failures. Without failures, FILE is removed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

FAILURES, SUMMARY = "= FAILURES =", "= short test summary info ="
WIDTH = 100


def run(argv: Sequence[str]) -> tuple[int, str]:
    """Run pytest and return its exit code and output. The output is also printed at once."""
    command = [sys.executable, "-m", "pytest", *argv]
    printed: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            printed.append(line)
    return process.returncode, "".join(printed)


def failed(printed: str) -> list[str]:
    """The names of the failed tests, from the summary of pytest."""
    lines = printed.rpartition(SUMMARY)[2].splitlines()
    return [line.split(" ", 1)[1].split(" - ")[0] for line in lines if line.startswith(("FAILED ", "ERROR "))]


def framed(title: str, lines: Sequence[str]) -> str:
    bar = "#" * WIDTH
    return "\n".join(["", bar, f"# {title}", bar, *lines, bar, ""])


def main(file: Path, argv: Sequence[str]) -> int:
    file.unlink(missing_ok=True)
    code, printed = run(argv)
    if code != 1:  # all passed, or the test run did not finish
        return code
    names = failed(printed)
    text = printed[max(0, printed.find(FAILURES)) :]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    print(framed(f"{len(names)} tests failed at first; their output is in `{file}`", [*names, "", text]))
    print("Running them again, alone:", flush=True)
    code, printed = run([*argv, "--last-failed", "-n", "0"])
    still_failed = failed(printed) if code else []
    passed = [name for name in names if name not in still_failed]
    if passed:
        print(framed("These failed at first and passed alone: find out why", passed))
    if still_failed:
        print(framed("These failed twice", still_failed))
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
