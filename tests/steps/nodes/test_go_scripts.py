"""The shipped scripts that test and lint a Go module, with programs that stand for Go's own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.settings.folders import shipped_script

TESTS, LINTER = (shipped_script(f"run_go_{name}.py") for name in ("tests", "linter"))


class Machine:
    """A folder with programs as the PATH."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.module = folder / "bin", folder / "module"
        self.bin.mkdir()
        self.module.mkdir()

    def program(self, name: str, script: str) -> None:
        path = self.bin / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >> {self.module}/called\n{script}\n')
        path.chmod(0o755)

    def run(self, script: str, **env: str) -> tuple[int, dict[str, Any], str]:
        env = {"PATH": str(self.bin), "VERIFY_BUILD_ROOT_DIR": str(self.module), **env}
        argv = [sys.executable, script]
        ended = subprocess.run(argv, env=env, cwd="/", capture_output=True, text=True, timeout=60, check=False)
        (line,) = ended.stdout.splitlines()
        return ended.returncode, json.loads(line), ended.stderr

    @property
    def called(self) -> list[str]:
        return (self.module / "called").read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_passing_tests(machine: Machine) -> None:
    machine.program("go", "echo ok; pwd")
    code, found, shown = machine.run(TESTS)
    assert (code, found["ok"], found["kind"], found["stage"]) == (0, True, "tests", "run_go_tests")
    assert found["details"] == {"steps": ["go test -count=1 ./..."]}
    assert machine.called == ["go test -count=1 ./..."]
    assert shown == f"ok\n{machine.module}\n"


def test_failing_tests_name_their_places(machine: Machine) -> None:
    machine.program("go", "echo '--- FAIL: TestAdd (0.00s)'; echo '    add_test.go:7: got 3'; exit 1")
    code, found, _ = machine.run(TESTS)
    assert (code, found["ok"], found["exitCode"]) == (1, False, 1)
    details = found["details"]
    assert (details["failedStep"], details["tool"]) == ("go test -count=1 ./...", "go")
    assert details["issues"] == [{"test": "TestAdd"}, {"file": "add_test.go", "line": 7, "message": "got 3"}]
    assert "got 3" in details["raw"]


def test_a_missing_program_is_exit_code_2(machine: Machine) -> None:
    code, found, _ = machine.run(TESTS)
    assert (code, found["exitCode"], found["details"]["missingCommand"]) == (2, 2, "go")
    machine.program("go", "")
    code, found, _ = machine.run(LINTER)
    assert (code, found["details"]["missingCommand"], found["kind"]) == (2, "golangci-lint", "linter")


def test_the_linter_runs_after_code_is_generated(machine: Machine) -> None:
    machine.program("go", "")
    machine.program("golangci-lint", "echo 'a/b.go:3:14: unused (unused)'; exit 1")
    code, found, _ = machine.run(LINTER)
    assert machine.called == ["go generate ./...", "golangci-lint run"]
    issue = {"file": "a/b.go", "line": 3, "message": "unused (unused)"}
    assert (code, found["details"]["issues"], found["details"]["tool"]) == (1, [issue], "golangci-lint")
    machine.program("go", "exit 5")
    code, found, _ = machine.run(LINTER)
    assert (code, found["details"]["failedStep"]) == (5, "go generate ./...")


def test_a_huge_output_is_cut(machine: Machine) -> None:
    machine.program("go", "i=0; while [ $i -lt 9000 ]; do echo 'xxxxxxxxxxxxxxxxxxxxxxxx'; i=$((i+1)); done; exit 1")
    _, found, _ = machine.run(TESTS, PATH=f"{machine.bin}:/usr/bin:/bin")
    assert len(found["details"]["raw"]) == 20_000
