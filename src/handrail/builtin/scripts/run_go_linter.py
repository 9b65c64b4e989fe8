"""Generates the code of a Go module and checks the module with its linter."""

from __future__ import annotations

import sys

from go_check import run  # type: ignore[import-not-found]  # the module beside this script

if __name__ == "__main__":
    sys.exit(run("linter", "run_go_linter", [["go", "generate", "./..."], ["golangci-lint", "run"]]))
