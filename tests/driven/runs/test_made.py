"""A file in `makes` proves something only if the step made or changed it."""

from __future__ import annotations

import os

import pytest

from driven.runs.test_proof import RETRY, Steps, command, steps

__all__ = ["steps"]
OLD = "`OUT.md` was there before, and the step did not change it"


def old_file(steps: Steps, name: str = "OUT.md") -> None:
    os.utime(steps.project.write(name, "old\n"), (1_000_000_000, 1_000_000_000))


def test_a_file_that_was_there_before_proves_nothing(steps: Steps) -> None:
    old_file(steps)
    steps.flow(command("true", "makes: [OUT.md]"))
    ended = steps.run(code=1)
    assert (ended["status"], ended["error"], ended["artifacts"]) == ("failed", OLD, [])


@pytest.mark.parametrize("script", ["echo new > OUT.md", "echo old > OUT.md", "echo old > x; mv x OUT.md"])
def test_a_file_that_the_step_wrote_counts_even_with_the_same_content(steps: Steps, script: str) -> None:
    old_file(steps)
    steps.flow(command(script, "makes: [OUT.md]"))
    assert [made["path"] for made in steps.run()["artifacts"]] == ["OUT.md"]


def test_a_new_content_with_the_old_time_counts(steps: Steps) -> None:
    old_file(steps)
    steps.flow(command("touch -r OUT.md x; echo new > OUT.md; touch -r x OUT.md", "makes: [OUT.md]"))
    assert steps.run()["status"] == "completed"


def test_a_file_of_the_step_before_is_not_the_work_of_the_next_one(steps: Steps) -> None:
    steps.flow(command("echo x > OUT.md", "makes: [OUT.md]"), command("true", "makes: [OUT.md]", "y"))
    assert steps.run(code=1)["error"] == OLD


def test_the_same_content_right_after_another_step_wrote_it_counts(steps: Steps) -> None:
    one = "{id: %s, node: write-file, params: {path: OUT.md, text: x}, makes: [OUT.md]}"
    steps.flow(one % "a", one % "b", command("echo x > OUT.md", "makes: [OUT.md]"))
    assert steps.run()["status"] == "completed"


def test_a_file_that_an_earlier_attempt_made_counts(steps: Steps) -> None:
    old_file(steps)
    steps.flow(
        command(
            "echo x >> log; test $(wc -l < log) -eq 2 || { echo new > OUT.md; exit 1; }", f"makes: [OUT.md], {RETRY}"
        )
    )
    assert (steps.run()["status"], steps.logged) == ("completed", ["x", "x"])


def test_an_earlier_attempt_counts_in_a_later_life(steps: Steps) -> None:
    old_file(steps)
    steps.flow(command("test -e go || { echo new > OUT.md; exit 1; }", "makes: [OUT.md]"))
    run = steps.run(code=1)["run"]
    steps.project.write("go", "")
    assert steps.run("resume", run)["status"] == "completed"


def test_resume_still_knows_what_was_there_before(steps: Steps) -> None:
    old_file(steps)
    steps.flow(command("echo x >> log", "makes: [OUT.md], rerun: safe"))
    run = steps.run(code=1)["run"]
    assert steps.run("resume", run, code=1)["error"] == OLD
    steps.project.write("OUT.md", "by hand\n")
    assert (steps.run("resume", run)["status"], steps.logged) == ("completed", ["x", "x"])


def test_a_file_that_was_changed_while_the_step_waited_counts(steps: Steps) -> None:
    old_file(steps)
    form = "{formId: f, title: T, fields: [{id: ok, type: boolean, label: OK}]}"
    steps.flow(f"{{id: ask, node: user-input, params: {form}, makes: [OUT.md]}}")
    run = steps.run(code=4)["run"]
    steps.project.write("OUT.md", "new\n")
    steps.project.write("answer.json", '{"ok": true}')
    assert steps.run("answer", run, "--file", "answer.json")["status"] == "completed"


def test_a_nested_flow_has_to_change_the_file_too(steps: Steps) -> None:
    old_file(steps)
    steps.flow(command("true", "rerun: safe"), name="inner")
    steps.flow("{id: n, node: flow-run, params: {fileName: inner}, makes: [OUT.md]}")
    run = steps.run(code=1)["run"]
    steps.project.write("OUT.md", "by hand\n")
    assert steps.run("resume", run)["status"] == "completed"


def test_a_nested_step_that_made_its_file_at_the_first_try_need_not_do_so_again(steps: Steps) -> None:
    old_file(steps)
    steps.flow(
        command("echo x >> log; test $(wc -l < log) -gt 1 || echo new > OUT.md", "makes: [OUT.md]"), name="inner"
    )
    proof = "expect: [{run: 'test $(wc -l < log) -gt 1'}]"
    steps.flow(f"{{id: n, node: flow-run, params: {{fileName: inner}}, {proof}, {RETRY}}}")
    assert (steps.run()["status"], steps.logged) == ("completed", ["x", "x"])


def test_an_optional_file_that_was_not_changed_is_not_published(steps: Steps) -> None:
    old_file(steps)
    steps.flow(command("true", "makes: [{path: OUT.md, required: false}]"))
    ended = steps.run()
    assert (ended["status"], ended["artifacts"]) == ("completed", [])
