"""A phase can be left only if its exit checks hold."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support import Project, is_running


def with_exit(project: Project, exit_: str) -> Project:
    project.workflow("w", ["a", "b"])
    project.phase("w", "a", f"exit:\n{exit_}")
    project.json("start", "w", "x")
    return project


def test_a_file_check_fails_until_the_file_exists(project: Project) -> None:
    with_exit(project, "  - file: docs/plan.md\n")
    view = project.json("next", code=5)
    assert (view["refused"], view["phase"]["id"]) == ("check-failed", "a")
    assert "`docs/plan.md` does not exist" in view["message"]
    project.write("docs/plan.md", "")
    assert "`docs/plan.md` is empty" in project.json("next", code=5)["message"]
    project.write("docs/plan.md", "plan")
    view = project.json("next")
    assert view["phase"]["id"] == "b"
    assert view["checks"][0]["held"] is True


def test_a_file_check_fails_for_a_link_out_of_the_project(project: Project, tmp_path: Path) -> None:
    with_exit(project, "  - file: out.md\n")
    (tmp_path / "elsewhere").write_text("x")
    (project.folder / "out.md").symlink_to(tmp_path / "elsewhere")
    assert "leads out of the project" in project.json("next", code=5)["message"]


def test_a_command_is_an_argument_list_or_a_line_for_the_shell(project: Project) -> None:
    with_exit(project, '  - run: [test, -f, "a file"]\n  - run: test -f done && true\n')
    view = project.json("next", code=5)
    assert [check["held"] for check in view["checks"]] == [False, False]
    project.write("a file", "")
    project.write("done", "")
    assert project.json("next")["phase"]["id"] == "b"


def test_the_agent_gets_the_output_of_a_failed_command(project: Project) -> None:
    with_exit(project, "  - run: echo the reason; exit 3\n    name: my check\n")
    message = project.json("next", code=5)["message"]
    assert "my check: `echo the reason; exit 3` ended with exit code 3" in message
    assert "the reason" in message


def test_a_named_check_also_says_what_is_checked(project: Project) -> None:
    exit_ = """  - {file: DESIGN.md, name: the design}
  - {run: "test -z x", name: all committed}
  - {kind: require-artifacts, paths: [a, b], name: both}
  - run: |
      true
      true
"""
    with_exit(project, exit_)
    claims = [
        "the design: `DESIGN.md` exists",
        "all committed: `test -z x` exits with 0",
        "both: `a b` exist",
        "`true …` exits with 0",
    ]
    for said in (project.run("context").out, project.run("status").out, project.run("show", "w").out):
        assert [claim for claim in claims if claim not in said] == []
    assert project.json("next", code=5)["message"].splitlines()[1:5] == [
        "✗ the design: `DESIGN.md` does not exist",
        "✗ all committed: `test -z x` ended with exit code 1",
        "✗ both: `a b`: `a` is missing",
        "✓ `true …` exits with 0",
    ]


def test_a_command_that_cannot_be_started_does_not_hold(project: Project) -> None:
    with_exit(project, "  - run: [no-such-program-here]\n")
    view = project.json("next", code=5)
    assert view["checks"][0]["held"] is None
    assert "cannot be started" in view["message"]


def test_a_command_that_times_out_is_killed_with_its_children(project: Project) -> None:
    with_exit(project, "  - run: sleep 300 & echo $! > child; wait\n    timeout: 0.5\n")
    view = project.json("next", code=5)
    assert "not done after 0.5 seconds" in view["message"]
    assert not is_running(int((project.folder / "child").read_text()))


@pytest.mark.whole
def test_a_command_that_ignores_sigterm_is_killed(project: Project) -> None:
    with_exit(project, "  - run: trap '' TERM; echo $$ > child; while true; do sleep 0.1; done\n    timeout: 0.5\n")
    project.json("next", code=5)
    assert not is_running(int((project.folder / "child").read_text()))


def test_endless_output_is_truncated(project: Project) -> None:
    with_exit(project, "  - run: yes | head -c 5000000; exit 1\n")
    view = project.json("next", code=5)
    detail = view["checks"][0]["detail"]
    assert len(detail) < 10_000
    assert detail.splitlines()[1] == "…", "what is left out is marked"


def test_check_results_are_in_the_journal(project: Project) -> None:
    with_exit(project, "  - run: exit 4\n")
    project.json("next", code=5)
    journal = next((project.home / "state").rglob("journal")).read_text()
    events = [event for line in journal.splitlines() for event in json.loads(line[9:])["events"]]
    assert events[-1]["type"] == "Checked"
    assert events[-1]["results"][0]["detail"] == "it ended with exit code 4"


def test_a_loop_needs_no_check(project: Project) -> None:
    with_exit(project, "  - run: exit 1\n")
    assert project.json("loop")["phase"]["id"] == "a"


def test_exit_checks_run_with_the_path_and_the_variables_of_the_start(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.workflow("w", ["build", "ship"])
    project.phase("w", "build", 'exit:\n  - run: proof && test -z "$ADDED"\n')
    for folder, code in (("good", 0), ("evil", 0), ("bad", 1)):
        project.write(f"{folder}/proof", f"#!/bin/sh\necho {folder} >> ran\nexit {code}\n").chmod(0o755)
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{project.folder}/bad:{path}")
    project.json("start", "w", "tea", "--session", "s", "--trust")
    monkeypatch.setenv("PATH", f"{project.folder}/evil:{path}")
    monkeypatch.setenv("ADDED", "1")
    project.json("next", "--trust", code=5)
    monkeypatch.setenv("PATH", f"{project.folder}/good:{path}")
    project.json("reload")
    assert project.json("next", "--trust", code=5)["refused"] == "check-failed"
    monkeypatch.delenv("ADDED")
    project.json("reload")
    monkeypatch.setenv("ADDED", "1")
    assert project.json("next", "--trust")["phase"]["id"] == "ship"
    assert (project.folder / "ran").read_text().split() == ["bad", "good", "good"]
