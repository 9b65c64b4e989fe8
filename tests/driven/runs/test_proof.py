"""The proof of a step (`expect`, `after`, `makes`) belongs to its attempt: what `retry` and `resume` do if it fails."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.driven.runs import run_events
from handrail.driven.runs.life import attempts
from handrail.driven.runs.state import RunState
from support import Project


class Steps:
    """Runs of flows that log what they do, on one engine."""

    def __init__(self, project: Project, engine: str) -> None:
        self.project = project
        project.write(".handrail/settings.yaml", f"engine: {engine}\n")

    def flow(self, *steps: str, name: str = "demo", more: str = "") -> None:
        text = "".join(f"  - {step}\n" for step in steps)
        self.project.write(f".handrail/flows/{name}.yaml", f"phases:\n- id: a\n{more}  steps:\n{text}")

    def run(self, *argv: str, code: int = 0) -> dict[str, Any]:
        return self.project.json(*(argv or ("run", "demo")), code=code)

    def answer(self, run: str, word: str) -> dict[str, Any]:
        self.project.write("answer.json", json.dumps({"rerun": word}))
        return self.run("answer", run, "--file", "answer.json", code=int(word == "fail"))

    @property
    def logged(self) -> list[str]:
        log = self.project.folder / "log"
        return log.read_text().split() if log.exists() else []

    def events(self, run: str, kind: str) -> list[dict[str, Any]]:
        lines = self.project.run("log", run, "--follow", "--events").out.splitlines()
        return [event for event in map(json.loads, lines) if event["type"] == kind]


@pytest.fixture
def steps(project: Project, engine: str) -> Steps:
    return Steps(project, engine)


def command(script: str, more: str, id_: str = "x") -> str:
    return f"{{id: {id_}, node: command, params: {{argv: [/bin/sh, -c, {json.dumps(script)}]}}, {more}}}"


SECOND = "echo x >> log; test $(wc -l < log) -lt 2 || echo made > made"
"""Makes its file at the second run."""
RETRY = "retry: {attempts: 3, wait: 0}"


@pytest.mark.parametrize("proof", ["makes: [made]", "expect: [{file: made}]", "expect: [{run: test -e made}]"])
def test_retry_repeats_the_node_if_the_proof_does_not_hold(steps: Steps, proof: str) -> None:
    steps.flow(command(SECOND, f"{proof}, {RETRY}"))
    ended = steps.run()
    assert (ended["status"], steps.logged) == ("completed", ["x", "x"])
    assert ended["phases"][0]["steps"][0]["attempts"] == 2


def test_the_step_fails_if_the_proof_of_its_last_attempt_does_not_hold(steps: Steps) -> None:
    steps.flow(command("echo x >> log", f"makes: [made], {RETRY}"))
    ended = steps.run(code=1)
    assert (ended["status"], ended["error"], steps.logged) == ("failed", "the step did not make `made`", ["x"] * 3)


def test_all_expectations_that_do_not_hold_are_reported(steps: Steps) -> None:
    steps.flow(command("true", "expect: [{file: a}, {run: 'true'}, {file: b, message: b is needed}]"))
    assert steps.run(code=1)["error"] == "`file: a` does not hold: it does not exist; b is needed: it does not exist"


def test_all_files_of_an_attempt_are_published_or_none(steps: Steps) -> None:
    script = "echo x >> log; cp log first; test $(wc -l < log) -lt 2 || echo made > made"
    steps.flow(command(script, f"makes: [first, made], {RETRY}"))
    ended = steps.run()
    assert [artifact["path"] for artifact in ended["artifacts"]] == ["first", "made"]


def test_an_instant_node_is_tried_again_too(steps: Steps) -> None:
    """The file appears while the step waits for its next attempt."""
    steps.flow(
        "{id: poll, node: set, params: {n: 1}, "
        "expect: [{run: 'test -e made || (touch made; false)'}], retry: {attempts: 3, wait: 0}}"
    )
    assert steps.run()["status"] == "completed"


def test_a_nested_flow_is_repeated_as_a_whole_if_its_proof_does_not_hold(steps: Steps) -> None:
    steps.flow(command(SECOND, "rerun: safe"), name="inner")
    steps.flow(f"{{id: n, node: flow-run, params: {{fileName: inner}}, expect: [{{file: made}}], {RETRY}}}")
    assert (steps.run()["status"], steps.logged) == ("completed", ["x", "x"])


def test_a_nested_flow_that_failed_does_not_repeat_its_finished_steps(steps: Steps) -> None:
    log = command("echo log >> log", "rerun: safe", "log")
    steps.flow(log, command("echo x >> log; test $(wc -l < log) -ge 4", "rerun: safe"), name="inner")
    steps.flow(f"{{id: n, node: flow-run, params: {{fileName: inner}}, {RETRY}}}")
    assert (steps.run()["status"], steps.logged) == ("completed", ["log", "x", "x", "x"])


def test_resume_runs_nothing_if_the_proof_holds_now(steps: Steps) -> None:
    steps.flow(command("echo x >> log", "makes: [made]"))
    run = steps.run(code=1)["run"]
    steps.project.write("made", "by hand")
    ended = steps.run("resume", run)
    assert (ended["status"], steps.logged) == ("completed", ["x"])
    assert [artifact["path"] for artifact in ended["artifacts"]] == ["made"]


def test_resume_runs_a_safe_step_again_if_the_proof_still_does_not_hold(steps: Steps) -> None:
    steps.flow(command(SECOND, "makes: [made], rerun: safe"))
    run = steps.run(code=1)["run"]
    assert (steps.run("resume", run)["status"], steps.logged) == ("completed", ["x", "x"])


def test_the_proof_of_another_attempt_uses_no_older_facts(steps: Steps) -> None:
    """The condition of the expectation was looked at before the step ran again."""
    steps.flow(command(SECOND, "expect: [{run: 'false', when: {not: {exists: made}}}], rerun: safe"))
    run = steps.run(code=1)["run"]
    assert (steps.run("resume", run)["status"], steps.logged) == ("completed", ["x", "x"])


def test_resume_asks_before_it_runs_a_finished_command_again(steps: Steps) -> None:
    steps.flow(command(SECOND, "makes: [made]"))
    run = steps.run(code=1)["run"]
    waiting = steps.run("resume", run, code=4)
    (question,) = waiting["questions"]
    assert question["form"]["title"] == "`a/x` has finished, but: the step did not make `made`"
    assert [option["value"] for option in question["form"]["fields"][0]["options"]] == ["again", "fail"]
    assert steps.run("resume", run, code=4)["questions"] == [question]
    assert steps.logged == ["x"]
    assert (steps.answer(run, "again")["status"], steps.logged) == ("completed", ["x", "x"])


LOOKS = "echo look >> looks; echo this is look $(wc -l < looks); test -e made"
"""A proof that fails with another reason each time."""


def test_a_question_about_a_proof_has_the_reason_of_now_and_its_answer_counts(steps: Steps) -> None:
    steps.flow(command(SECOND, f"expect: [{{run: {json.dumps(LOOKS)}}}]"))
    run = steps.run(code=1)["run"]
    for look in (2, 3):
        (question,) = steps.run("resume", run, code=4)["questions"]
        assert f"this is look {look}" in question["form"]["title"] + question["form"]["description"]
    assert (steps.answer(run, "again")["status"], steps.logged) == ("completed", ["x", "x"])


def test_the_question_is_dropped_if_the_proof_holds_meanwhile(steps: Steps) -> None:
    steps.flow(command("echo x >> log", "makes: [made]"))
    run = steps.run(code=1)["run"]
    steps.run("resume", run, code=4)
    steps.project.write("made", "by hand")
    ended = steps.run("resume", run)
    assert (ended["status"], ended["questions"], steps.logged) == ("completed", [], ["x"])


def test_after_the_answer_fail_a_resume_looks_and_asks_again(steps: Steps) -> None:
    steps.flow(command("echo x >> log", "makes: [made]"))
    run = steps.run(code=1)["run"]
    steps.run("resume", run, code=4)
    assert steps.answer(run, "fail")["status"] == "failed"
    assert steps.run("resume", run, code=4)["status"] == "waiting"
    assert steps.logged == ["x"]


def test_resume_never_repeats_a_step_with_rerun_never(steps: Steps) -> None:
    steps.flow(command("echo x >> log", "expect: [{file: made}], rerun: never"))
    run = steps.run(code=1)["run"]
    ended = steps.run("resume", run, code=1)
    assert "`a/x` has `rerun: never`, so it is not run again" in ended["error"]
    said = steps.project.run("resume", run)
    assert f"fix it by hand, then run `handrail resume {run}`" in said.err
    steps.project.write("made", "by hand")
    assert (steps.run("resume", run)["status"], steps.logged) == ("completed", ["x"])


def test_a_finished_nested_flow_is_not_repeated_without_asking(steps: Steps) -> None:
    steps.flow(command(SECOND, "rerun: safe"), name="inner")
    steps.flow("{id: n, node: flow-run, params: {fileName: inner}, expect: [{file: made}]}")
    run = steps.run(code=1)["run"]
    assert [q["path"] for q in steps.run("resume", run, code=4)["questions"]] == ["a/n"]
    assert steps.logged == ["x"]
    assert (steps.answer(run, "again")["status"], steps.logged) == ("completed", ["x", "x"])


def test_a_step_that_failed_otherwise_is_done_again_by_resume(steps: Steps) -> None:
    steps.flow(command("echo x >> log; test -e ready", "makes: [ready]"))
    run = steps.run(code=1)["run"]
    steps.project.write("ready", "")
    assert (steps.run("resume", run)["status"], steps.logged) == ("completed", ["x", "x"])


def test_a_proof_in_a_repeat_belongs_to_its_round(steps: Steps) -> None:
    script = "echo ${repeat.i} >> log; test $(wc -l < log) -lt 3 || echo made > made"
    step = command(script, f"when: {{equals: ['${{repeat.i}}', 2]}}, makes: [made], {RETRY}")
    text = f"phases:\n- repeat: {{var: i, to: 2}}\n  phases:\n  - id: a-${{i}}\n    steps:\n    - {step}\n"
    steps.project.write(".handrail/flows/demo.yaml", text)
    assert (steps.run()["status"], steps.logged) == ("completed", ["2", "2", "2"])


def test_a_person_who_resumes_gives_the_step_its_attempts_anew(steps: Steps) -> None:
    steps.flow(command("echo x >> log; false", "retry: {attempts: 2, wait: 0}"))
    run = steps.run(code=1)["run"]
    assert steps.logged == ["x"] * 2
    steps.run("resume", run, code=1)
    assert steps.logged == ["x"] * 4
    (noticed,) = steps.events(run, "Noticed")
    assert noticed["text"] == "2 attempts failed before; from here it gets 2 attempts again"


def test_a_failed_proof_is_known_from_a_journal_of_an_older_version() -> None:
    state = RunState()
    for event in (
        run_events.StepStarted("a/x"),
        run_events.NodeStarted("a/x", "d", 1),
        run_events.NodeFinished("a/x", "d", 1, {}),
        run_events.StepFailed("a/x", "expectation", "no"),
    ):
        state.apply(event)
    tried = attempts(state, "a/x")
    assert (tried.is_refuted, tried.is_over, tried.failure) == (True, True, ("expectation", "no"))


SURE = (
    "{id: ask, node: user-input, params: {formId: f, title: Sure?, fields: [{id: who, type: text, label: Who}]}, "
    "expect: [{kind: step-output, value: '${steps.a.ask.outputs.values.who}', equals: Ada}]%s}"
)


@pytest.mark.parametrize("more", ["", ", retry: {attempts: 2, wait: 0}"], ids=["resumed", "retried"])
def test_a_person_is_asked_again_if_the_proof_of_the_answer_does_not_hold(steps: Steps, more: str) -> None:
    steps.flow(SURE % more)
    run = steps.run(code=4)["run"]
    steps.project.write("answer.json", '{"who": "Bob"}')
    steps.run("answer", run, "--file", "answer.json", code=4 if more else 1)
    assert steps.run("resume", run, code=4)["waitingFor"] == [{"question": "q2", "path": "a/ask", "title": "Sure?"}]
    steps.project.write("answer.json", '{"who": "Ada"}')
    assert steps.run("answer", run, "--file", "answer.json")["status"] == "completed"
