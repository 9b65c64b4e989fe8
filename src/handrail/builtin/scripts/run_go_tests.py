"""Runs the tests of a Go module."""

from __future__ import annotations

import sys

from go_check import run  # type: ignore[import-not-found]  # the module beside this script

if __name__ == "__main__":
    sys.exit(run("tests", "run_go_tests", [["go", "test", "-count=1", "./..."]]))
