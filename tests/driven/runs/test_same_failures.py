"""A repeat ends when a check fails in the same way in several rounds in a row, although an agent worked on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handrail.settings.settings import read_settings
from support import Project

CHECKED = "{id: check, node: local-script-check, params: {argv: [sh, check.sh], byExitCode: true}}"
FIX = "{id: fix, node: llm-prompt, prompt: Fix it., when: {not: '${steps.round.check.outputs.parsed.ok}'}}"
OK = "${steps.round.check.outputs.parsed.ok}"
NOISY = 'echo "begin $(date +%T.%N) in $(mktemp -d) as pid $$"; echo "1 failed in 0.$$s"; exit 1\n'
"""A check whose output is never the same."""


@pytest.fixture
def looping(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    project.write("script.yaml", "[{tool: bash, input: {command: echo fixed >> fixes}}]\n")
    project.write("check.sh", NOISY)
    return project


def flow(project: Project, *steps: str, same: int | None = None, until: str = OK) -> None:
    lines = "".join(f"          - {step}\n" for step in steps)
    more = "" if same is None else f"      sameFailures: {same}\n"
    project.write(
        ".handrail/flows/loop.yaml",
        f"phases:\n  - repeat:\n      var: n\n      max: 5\n      until: {until}\n{more}"
        f"    phases:\n      - id: round-${{n}}\n        steps:\n{lines}",
    )


def run(project: Project, *words: str, code: int = 1) -> dict[str, Any]:
    return project.json("run", "loop", "--agent", "scripted", *words, code=code)


def fixes(project: Project) -> int:
    path = project.folder / "fixes"
    return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.mark.whole
def test_three_equal_failures_in_a_row_end_the_repeat(looping: Project) -> None:
    flow(looping, CHECKED, FIX)
    ended = run(looping)
    assert (ended["reason"], fixes(looping)) == ("same-failure at round-3/check", 2)
    assert ended["error"].startswith(
        "`check` failed in the same way in 3 rounds in a row, so the repeat ends: 1 failed"
    )


@pytest.mark.whole
def test_a_command_that_prints_nothing_is_told_by_its_exit_code(looping: Project) -> None:
    command = "{id: check, node: command, params: {argv: [sh, -c, 'exit 4'], mayFail: true}}"
    fix = "{id: fix, node: llm-prompt, prompt: Fix it.}"
    flow(looping, command, fix, until="{equals: ['${steps.round.check.outputs.exitCode}', 0]}")
    assert run(looping)["error"].endswith("so the repeat ends: `exitCode` is 4")


@pytest.mark.whole
def test_another_failure_starts_the_count_again(looping: Project) -> None:
    looping.write("check.sh", "wc -l < fixes 2>/dev/null; exit 1\n")
    flow(looping, CHECKED, FIX)
    assert run(looping)["reason"] == "repeat-exhausted at round-5"
    assert fixes(looping) == 5


def test_a_repeat_that_only_waits_goes_on(looping: Project) -> None:
    flow(looping, CHECKED)
    assert run(looping)["reason"] == "repeat-exhausted at round-5"


@pytest.mark.parametrize("same", [2, 4])
def test_a_repeat_says_how_many_rounds_and_then_every_round_counts(looping: Project, same: int) -> None:
    flow(looping, CHECKED, same=same)
    assert run(looping)["reason"] == f"same-failure at round-{same}/check"


@pytest.mark.whole
@pytest.mark.parametrize(
    ("settings", "reason"), [(2, "same-failure at round-2/check"), (0, "repeat-exhausted at round-5")]
)
def test_the_settings_say_how_many_rounds(looping: Project, settings: int, reason: str) -> None:
    looping.write(".handrail/settings.yaml", f"sameFailures: {settings}\n")
    flow(looping, CHECKED, FIX)
    assert run(looping)["reason"] == reason


@pytest.mark.whole
def test_zero_in_the_repeat_wins_over_the_settings(looping: Project) -> None:
    flow(looping, CHECKED, FIX, same=0)
    assert run(looping)["reason"] == "repeat-exhausted at round-5"


@pytest.mark.whole
def test_after_a_person_fixed_the_cause_the_check_runs_again(looping: Project) -> None:
    flow(looping, CHECKED, FIX)
    id_ = run(looping)["run"]
    assert looping.json("resume", id_, code=1)["reason"] == "same-failure at round-3/check"
    looping.write("check.sh", "exit 0\n")
    ended = looping.json("resume", id_)
    assert (ended["status"], fixes(looping)) == ("completed", 2)


COMMAND = "{id: check, node: command, params: {argv: [sh, check.sh], mayFail: true}}"
DONE = "{id: done, node: file-check, params: {path: done}}"
ALWAYS = "{id: fix, node: llm-prompt, prompt: Fix it.}"


@pytest.mark.whole
def test_an_exit_code_counts_if_until_uses_it(looping: Project) -> None:
    flow(looping, COMMAND, ALWAYS, until='{equals: ["${steps.round.check.outputs.exitCode}", 0]}')
    assert run(looping)["reason"] == "same-failure at round-3/check"


@pytest.mark.whole
def test_another_exit_code_may_mean_anything(looping: Project) -> None:
    flow(looping, COMMAND, ALWAYS, DONE, until="${steps.round.done.outputs.exists}")
    assert run(looping)["reason"] == "repeat-exhausted at round-5"


@pytest.mark.whole
def test_the_last_check_of_a_nested_flow_counts(looping: Project) -> None:
    looping.write(".handrail/flows/inner.yaml", f"phases: [{{id: p, steps: [{CHECKED}]}}]\n")
    inner = "{id: inner, node: flow-run, params: {fileName: inner}}"
    flow(looping, inner, ALWAYS, DONE, until="${steps.round.done.outputs.exists}")
    assert run(looping)["reason"] == "same-failure at round-3/inner"


@pytest.mark.parametrize(
    ("repeat", "said"),
    [
        ("{var: n, to: 3, sameFailures: 1}", "`sameFailures` has to be 0, or 2 or more, found `1`"),
        ("{over: [a, b], max: 3, sameFailures: 3}", "`sameFailures` cannot be used with `over` or `parallel`"),
    ],
)
def test_a_wrong_number_is_located(project: Project, repeat: str, said: str) -> None:
    steps = "[{id: a, node: set, params: {n: 1}}]"
    id_ = "p-${n}" if "var" in repeat else "p-${index}"
    project.write(
        ".handrail/flows/f.yaml", f"phases:\n  - repeat: {repeat}\n    phases: [{{id: '{id_}', steps: {steps}}}]\n"
    )
    problem = project.json("validate", code=2)["problems"][0]
    assert (problem["code"], problem["message"], problem["line"]) == ("bad-value", said, 2)


def test_one_in_the_settings_is_located(project: Project) -> None:
    project.write(".handrail/settings.yaml", "agent: scripted\nsameFailures: 1\n")
    problem = project.json("validate", code=2)["problems"][0]
    assert (problem["message"], problem["line"]) == ("`sameFailures` has to be 0, or 2 or more, found `1`", 2)


def test_a_wrong_one_of_the_user_does_not_keep_the_project_from_being_read(project: Project, tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text("sameFailures: 1\n")
    project.write(".handrail/settings.yaml", "agent: scripted\n")
    settings, problems = read_settings(str(tmp_path), str(project.folder))
    assert [problem.message for problem in problems] == ["`sameFailures` has to be 0, or 2 or more, found `1`"]
    assert (settings.same_failures, settings.routes) == (3, {"default": "scripted"})
