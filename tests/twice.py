"""Runs tests, and those that failed once more, alone. What failed at first is shown, kept and named at the end.

`python -m twice FILE PYTEST-ARGUMENTS`: FILE gets the text of what failed at first, and is absent if nothing did.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

FAILURES, SUMMARY = "= FAILURES =", "= short test summary info ="
WIDTH = 100


def run(argv: Sequence[str]) -> tuple[int, str]:
    """The exit code of pytest and what it printed, which is shown as it comes."""
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
    """The names of the tests that failed, from the summary of pytest."""
    lines = printed.rpartition(SUMMARY)[2].splitlines()
    return [line.split(" ", 1)[1].split(" - ")[0] for line in lines if line.startswith(("FAILED ", "ERROR "))]


def framed(title: str, lines: Sequence[str]) -> str:
    bar = "#" * WIDTH
    return "\n".join(["", bar, f"# {title}", bar, *lines, bar, ""])


def main(file: Path, argv: Sequence[str]) -> int:
    file.unlink(missing_ok=True)
    code, printed = run(argv)
    if code != 1:  # all passed, or the tests did not run to their end
        return code
    names = failed(printed)
    text = printed[max(0, printed.find(FAILURES)) :]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    print(framed(f"These {len(names)} failed at first; `{file}` has their text", [*names, "", text]))
    print("Once more, alone:", flush=True)
    code, printed = run([*argv, "--last-failed", "-n", "0"])
    still = failed(printed) if code else []
    passed = [name for name in names if name not in still]
    if passed:
        print(framed("These failed at first and passed alone: find out why", passed))
    if still:
        print(framed("These failed twice", still))
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
