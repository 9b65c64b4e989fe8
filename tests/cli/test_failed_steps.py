"""What a failed step printed is shown with the failure, and `handrail log RUN --output STEP` prints all of it."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys

import pytest

from support import Project

ESCAPES = "\\x1b[31mFAILED\\x1b[0m  (errors=1)\\n---\\n"


def command(code: str, more: str = "") -> str:
    return f"node: command, params: {{argv: [{json.dumps(sys.executable)}, -c, {json.dumps(code)}]}}{more}"


def write_flow(project: Project, step: str, name: str = "demo") -> None:
    project.write(f".handrail/flows/{name}.yaml", f"phases:\n- {{id: a, steps: [{{id: x, {step}}}]}}\n")


@pytest.fixture
def failed(project: Project) -> Project:
    """A run whose program printed 60 numbered lines and two more, and failed."""
    write_flow(project, command(f"print(*range(60), sep='\\n'); print('{ESCAPES}'); raise SystemExit(2)"))
    return project


def test_without_a_terminal_the_last_lines_of_a_failed_step_are_below_its_failure(failed: Project) -> None:
    said = failed.run("run", "demo")
    lines = said.err.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("  ✗ a/x"))
    assert said.code == 1
    assert lines[at].endswith("ended with 2: FAILED  (errors=1)")
    numbers = [f"    {number}" for number in range(22, 60)]
    assert lines[at + 1 : at + 41] == [*numbers, "    FAILED  (errors=1)", "    ---"]
    assert "--output a/x` prints all that it printed" in said.err
    assert "\x1b" not in said.err + said.out


def test_on_a_terminal_the_last_lines_of_a_failed_step_are_below_the_tree(failed: Project) -> None:
    master, slave = pty.openpty()
    program = os.path.join(os.path.dirname(sys.executable), "handrail")
    env = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen([program, "run", "demo"], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env=env):
        os.close(slave)
        shown = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while piece := os.read(master, 65536):
                shown += piece
    os.close(master)
    lines = shown.decode().replace("\x1b[?7h", "").splitlines()
    at = lines.index("the last lines that `a/x` printed:")
    assert lines[at + 1 : at + 3] == ["    22", "    23"]
    assert lines[at + 39 : at + 41] == ["    FAILED  (errors=1)", "    ---"]


def test_the_reason_is_the_last_line_with_a_letter_or_a_digit(failed: Project) -> None:
    assert failed.run("run", "demo").out.rstrip().endswith("ended with 2: FAILED  (errors=1)")


def test_the_log_has_the_last_lines_and_can_print_all_of_them(failed: Project) -> None:
    failed.run("run", "demo")
    story = failed.run("log", "last").out.splitlines()
    assert "    22" in story
    assert "    21" not in story
    assert (
        failed.run("log", "last", "--output", "a/x").out
        == "\n".join(map(str, range(60))) + "\nFAILED  (errors=1)\n---\n"
    )
    assert failed.json("log", "--output", "x")["output"].startswith("0\n1\n2\n")


def test_programs_get_the_last_lines_as_the_output_of_the_step(failed: Project) -> None:
    for found in (failed.json("run", "demo", code=1), failed.json("runs", "last")):
        (step,) = found["phases"][0]["steps"]
        assert step["output"].split("\n")[0] == "22"
        assert step["output"].split("\n")[-2:] == ["FAILED  (errors=1)", "---"]


def test_a_step_that_is_done_has_no_output_of_a_failure_and_its_log_has_all(project: Project) -> None:
    write_flow(project, command("print('fine')"))
    (step,) = project.json("run", "demo")["phases"][0]["steps"]
    assert (step["output"], project.run("log", "--output", "x").out) == (None, "fine\n")


def test_all_that_a_step_printed_has_whole_lines(project: Project) -> None:
    write_flow(project, command("print('x' * 9000); raise SystemExit(1)"))
    project.run("run", "demo")
    assert project.run("log", "--output", "x").out == "x" * 9000 + "\n"
    assert max(map(len, project.run("log").out.splitlines())) < 2100


def test_a_step_that_runs_a_flow_has_the_output_of_the_step_that_failed_in_it(failed: Project) -> None:
    write_flow(failed, "node: flow-run, params: {fileName: demo}", "outer")
    (step,) = failed.json("run", "outer", code=1)["phases"][0]["steps"]
    assert step["output"].endswith("---")
    assert failed.run("log", "--output", "a/x/a/x").out.startswith("0\n1\n")


def test_what_the_check_of_a_step_printed_is_below_the_failure(project: Project) -> None:
    write_flow(project, "node: set, params: {n: 1}, expect: [{run: 'echo \"two  spaces\"; echo no; exit 3'}]")
    said = project.run("run", "demo")
    assert "does not hold: it ended with exit code 3\n    two  spaces\n    no\n" in said.err


def test_a_step_that_was_not_done_in_time_has_output_too(project: Project) -> None:
    write_flow(project, command("print('begun', flush=True); import time; time.sleep(60)", ", timeout: 1"))
    said = project.run("run", "demo")
    assert (said.code, "    begun\n" in said.err) == (3, True)


def test_a_secret_that_a_failed_step_printed_is_masked_everywhere(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEMO_TOKEN", "sesame-open-4711")
    code = "word = 'sesame-' + 'open-4711'; print(f'key: {word}', *['.'] * 9000, word, sep='\\n'); raise SystemExit(1)"
    write_flow(project, command(code))
    said = project.run("run", "demo")
    texts = [said.out, said.err, project.run("log", "--output", "x").out, project.run("log", "--events").out]
    assert [text for text in texts if "sesame-open" in text] == []
    assert "key: [hidden]" in texts[2]
    assert not [path for path in project.home.rglob("*") if path.is_file() and b"sesame-open" in path.read_bytes()]


def test_a_step_that_does_not_exist_is_named_with_those_that_do(failed: Project) -> None:
    failed.run("run", "demo")
    said = failed.run("log", "last", "--output", "y")
    assert (said.code, "has begun no step `y`" in said.err, "a/x" in said.err) == (1, True, True)
    assert failed.run("log", "last", "--output", "x", "--follow").code == 2


def test_without_a_run_the_log_is_that_of_the_newest_run_or_session(project: Project) -> None:
    assert "no runs" in project.run("log").err
    project.workflow("ship", ["plan"])
    id_ = project.json("start", "ship", "a login page")["session"]
    assert project.json("log")["session"] == project.json("log", "last")["session"] == id_
    write_flow(project, "node: set, params: {n: 1}")
    run = project.json("run", "demo")["run"]
    assert run in project.run("log").out
    assert run in project.run("log", "last").out
