"""`find-check`: which command checks a project, and where it was found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steps.nodes.steps import failed, step
from support import Project

TESTED = {"package.json": json.dumps({"scripts": {"test": "vitest"}})}
UNTESTED = {"package.json": json.dumps({"scripts": {"test": 'echo "Error: no test specified" && exit 1'}})}
PYTEST = {"pyproject.toml": '[project]\nname = "x"\n[dependency-groups]\ndev = ["pytest>=8"]\n'}
PROJECTS = [
    ({"Makefile": "all:\n\ttrue\ntest: all\n\ttrue\n", **TESTED}, "make test", "Makefile"),
    ({"Makefile": "test := 1\nbuild:\n\ttrue\n", **TESTED}, "npm run test", "package.json"),
    ({"justfile": "test *args:\n  cargo test\n", "Cargo.toml": ""}, "just test", "justfile"),
    ({**TESTED, "pnpm-lock.yaml": ""}, "pnpm run test", "package.json"),
    (
        {"package.json": json.dumps({"packageManager": "yarn@4.1.0", "scripts": {"test": "x"}})},
        "yarn run test",
        "package.json",
    ),
    ({**UNTESTED, "go.mod": "module x\n"}, "go test ./...", "go.mod"),
    (PYTEST, "python3 -m pytest", "pyproject.toml"),
    ({"pytest.ini": "", ".venv/bin/python": ""}, ".venv/bin/python -m pytest", "pytest.ini"),
    ({"setup.cfg": "[tool:pytest]\n", "uv.lock": ""}, "uv run python -m pytest", "setup.cfg"),
    ({"tests/test_a.py": ""}, "python3 -m unittest discover -s tests", "tests/test_a.py"),
    ({"tests/__init__.py": "", "tests/test_a.py": ""}, "python3 -m unittest discover", "tests/test_a.py"),
    ({"a_test.py": ""}, "python3 -m unittest discover -s . -p '*_test.py'", "a_test.py"),
    ({"Cargo.toml": ""}, "cargo test", "Cargo.toml"),
    ({"pom.xml": ""}, "mvn -q test", "pom.xml"),
    ({"Shop.sln": ""}, "dotnet test", "Shop.sln"),
    ({"package.json": "[", "mix.exs": ""}, "mix test", "mix.exs"),
]


def lay_out(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize(("files", "line", "source"), PROJECTS, ids=[line for _, line, _ in PROJECTS])
def test_the_files_of_a_project_name_its_check(tmp_path: Path, files: dict[str, str], line: str, source: str) -> None:
    lay_out(tmp_path, files)
    found = step("find-check", {}, tmp_path)
    assert (found["line"], found["source"]) == (line, source)


def test_the_found_unittest_command_runs_the_tests(tmp_path: Path) -> None:
    test = "import unittest, code_\nclass T(unittest.TestCase):\n  def test_it(self): self.assertEqual(code_.x, 1)\n"
    lay_out(tmp_path, {"code_.py": "x = 2\n", "tests/test_x.py": test})
    command = step("find-check", {}, tmp_path)["command"]
    ended = step("local-script-check", {"argv": command, "byExitCode": True}, tmp_path, {"PATH": "/usr/bin:/bin"})
    assert (ended["parsed"]["ok"], "AssertionError: 2 != 1" in ended["output"]) == (False, True), ended
    lay_out(tmp_path, {"code_.py": "x = 1 # mended\n"})
    assert step("local-script-check", {"argv": command, "byExitCode": True}, tmp_path)["parsed"]["ok"]


def test_others_are_told(tmp_path: Path) -> None:
    lay_out(tmp_path, {**TESTED, "go.mod": ""})
    found = step("find-check", {}, tmp_path)
    assert (found["command"], found["others"]) == (["npm", "run", "test"], ["go test ./..."])


@pytest.mark.parametrize("given", ["make 'a b'", ["make", "a b"]])
def test_the_given_command_wins(tmp_path: Path, given: object) -> None:
    lay_out(tmp_path, TESTED)
    found = step("find-check", {"command": given}, tmp_path)
    assert (found["command"], found["line"], found["source"]) == (["make", "a b"], "make 'a b'", "given")


def test_a_person_may_say_that_there_is_no_check(tmp_path: Path) -> None:
    found = step("find-check", {"command": "none"}, tmp_path)
    assert (found["command"], found["line"]) == (None, "none")


def test_a_project_without_a_check_is_told_what_to_do(tmp_path: Path) -> None:
    error = failed("find-check", {}, tmp_path)
    assert (error.code, "`check: make test` in `.handrail/settings.yaml`" in error.message) == ("check-missing", True)


def test_a_command_that_is_none_is_refused(tmp_path: Path) -> None:
    for given in ("make 'test", " ", [""], []):
        assert failed("find-check", {"command": given}, tmp_path).code == "params"


def test_a_file_outside_of_the_project_names_nothing(tmp_path: Path) -> None:
    lay_out(tmp_path, {"outside/Makefile": "test:\n\ttrue\n"})
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "Makefile").symlink_to(tmp_path / "outside" / "Makefile")
    assert failed("find-check", {}, tmp_path / "inside").code == "check-missing"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project(tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize("check", ["'make lint test'", "[make, lint, test]"])
def test_the_settings_win_over_what_is_found(project: Project, check: str) -> None:
    project.write("go.mod", "module x\n")
    project.write(".handrail/settings.yaml", f"check: {check}\n")
    project.write(".handrail/flows/look.yaml", "phases: [{id: a, steps: [{id: x, node: find-check}]}]\n")
    value = project.json("run", "look")["phases"][0]["steps"][0]["value"]
    assert (value["command"], value["source"]) == (["make", "lint", "test"], "settings")


@pytest.mark.parametrize("check", ["''", '"make \'test"', "[]", "[1]", "['']"])
def test_a_setting_that_is_no_command_is_a_problem(project: Project, check: str) -> None:
    project.write(".handrail/settings.yaml", f"check: {check}\n")
    problems = project.json("validate", code=2)["problems"]
    assert [(problem["code"], problem["line"]) for problem in problems] == [("bad-value", 1)]
