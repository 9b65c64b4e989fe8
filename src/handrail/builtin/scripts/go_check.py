"""Runs the steps of a check of a Go module, and prints the result as one line of JSON.

The output of the steps goes to standard error. The module is in `VERIFY_BUILD_ROOT_DIR`, else in the working directory.
Exit codes: 0 if all steps succeeded, 2 if a program is not installed, else the exit code of the failed step.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import deque
from typing import Any

KEEP = 20_000
MAX_ISSUES = 50
_PLACE = re.compile(r"^\s*(?P<file>[^\s:]+\.go):(?P<line>[0-9]{1,9})(?::[0-9]{1,9})?: (?P<message>.+)$")
_FAILED = re.compile(r"^\s*--- FAIL: (?P<test>\S+)")


def run(kind: str, stage: str, steps: list[list[str]]) -> int:
    """Run the steps one after the other until one fails. Returns the exit code."""
    root = os.environ.get("VERIFY_BUILD_ROOT_DIR") or os.getcwd()
    done: list[str] = []
    for argv in steps:
        line = " ".join(argv)
        program = shutil.which(argv[0])
        if program is None:
            missing = {"failedStep": line, "missingCommand": argv[0], "tool": argv[0], "raw": "", "issues": []}
            return _say(kind, stage, 2, f"`{argv[0]}` is not installed", line, missing)
        code, output = _step([program, *argv[1:]], root)
        if code != 0:
            details = {"failedStep": line, "tool": argv[0], "raw": output[-KEEP:], "issues": _issues(output)}
            return _say(kind, stage, code if code > 0 else 1, f"`{line}` failed", line, details)
        done.append(line)
    return _say(kind, stage, 0, f"`{stage}` succeeded", " && ".join(done), {"steps": done})


def _step(argv: list[str], root: str) -> tuple[int, str]:
    """The exit code and the output of a program. The output is also shown as it comes."""
    try:
        with subprocess.Popen(  # noqa: S603 - an argument list of ours
            argv, cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as process:
            assert process.stdout is not None
            pieces: deque[str] = deque(maxlen=5_000)
            for raw in process.stdout:
                line = raw.decode("utf-8", "replace")
                sys.stderr.write(line)
                pieces.append(line)
            return process.wait(), "".join(pieces)
    except OSError as error:
        return 1, f"{argv[0]}: {error.strerror}"


def _issues(output: str) -> list[dict[str, Any]]:
    """The places and the tests that an output names."""
    found: list[dict[str, Any]] = []
    for line in output.splitlines():
        if place := _PLACE.match(line):
            found.append({"file": place["file"], "line": int(place["line"]), "message": place["message"].strip()})
        elif failed := _FAILED.match(line):
            found.append({"test": failed["test"]})
    return found[:MAX_ISSUES]


def _say(kind: str, stage: str, code: int, summary: str, command: str, details: dict[str, Any]) -> int:
    sys.stderr.flush()
    result = {"ok": code == 0, "kind": kind, "stage": stage, "exitCode": code, "summary": summary, "command": command}
    sys.stdout.write(json.dumps({**result, "details": details}) + "\n")
    return code
