"""What a question for a yes says about its effect, from a real run."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from handrail.view.rows.run_sections import effect_of
from support import Project

COMMITS = """
phases:
- id: check
  steps:
  - id: test
    node: command
    params: {argv: ['true']}
    expect: [{kind: step-output, value: true, message: never}]
- id: say
  steps:
  - {id: yes, node: propose, params: {effect: git-commit, params: {message: Say hello, files: [a.txt, b/c.txt]}}}
"""
ASKS = "phases:\n- {id: ask, steps: [{id: yes, node: approve, params: {question: Go on?, files: [a.txt]}}]}\n"
RERUN = """
phases:
- id: work
  steps:
  - {id: it, node: command, rerun: ask, params: {argv: ['true']}, expect: [{kind: require-file, path: no.txt}]}
"""


def need(project: Project, flow: str, text: str, code: int = 4) -> dict[str, Any]:
    project.write(f".handrail/flows/{flow}.yaml", text)
    run = project.json("run", flow, code=code)["run"]
    if code != 4:
        project.run("resume", run)
    (found,) = json.loads(project.run("view", f"run:{run}").out)["set"]["needs"]
    assert isinstance(found, dict)
    return found


def test_a_proposed_commit_says_what_it_does_what_it_changes_and_what_was_checked(project: Project) -> None:
    for line in ("git init -q -b main", "git config user.name Ada", "git config user.email ada@example.com"):
        subprocess.run(line.split(), check=True)
    project.write("a.txt", "hello\n")
    project.write("b/c.txt", "hello\n")
    found = need(project, "commits", COMMITS)
    action = found["action"]
    assert (found["kind"], action["does"]) == ("approval", "Commit to `main`: Say hello")
    assert [file["path"] for file in action["changes"]["files"]] == ["a.txt", "b/c.txt"]
    assert {"branch", "commit", "files", "hooks"} <= action["state"].keys()
    assert [(check["kind"], check["held"]) for check in action["checks"]] == [("step-output", True)]
    assert (action["gate"], action["command"], action["tree"], action["claim"]) == (None, None, None, None)


def test_a_plain_question_says_only_what_is_known(project: Project) -> None:
    project.write("a.txt", "hello\n")
    action = need(project, "asks", ASKS)["action"]
    assert (action["does"], action["checks"], action["changes"]) == (
        "the run goes on after ask › yes",
        None,
        None,
    )
    assert list(action["state"]) == ["a.txt"]


def test_of_a_check_that_ran_in_several_rounds_the_last_result_counts() -> None:
    rounds: list[dict[str, Any]] = [{"name": "a.txt", "kind": "file", "held": n == 2, "at": n} for n in (1, 2)]
    action = effect_of("approval", "ask/yes", "Go on?", None, rounds)
    assert action is not None
    assert [(check["held"], check["at"]) for check in action["checks"]] == [(True, 2)]


def test_a_question_whether_a_step_may_run_again_is_of_its_own_kind(project: Project) -> None:
    found = need(project, "again", RERUN, code=1)
    assert (found["kind"], found["action"]["does"]) == ("rerun", "work/it runs again")
