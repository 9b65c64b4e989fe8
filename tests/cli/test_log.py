"""`handrail log`: a story for people, events for programs, and every attempt of a run."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any

import pytest

from handrail.cli.commands import history
from support import Project

FLOW = """\
params: {version: "1"}
phases:
- {id: make, steps: [{id: x, node: set, params: {n: 1}}]}
- {id: test, steps: [{id: t, node: command, params: {argv: [test, -e, ready]}}]}
"""


@pytest.fixture
def restarted(project: Project) -> Project:
    """A run that failed, and was then restarted from its second phase."""
    project.write(".handrail/flows/demo.yaml", FLOW)
    project.json("run", "demo", "--param", "version=2.0", code=1)
    project.write("ready", "")
    project.json("restart", "last", "--from", "test")
    return project


def lines(text: str) -> list[str]:
    """The lines without ids, dates, times and durations."""
    text = re.sub(r"r-\w{6}|\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|  \d+\.\ds|after \d+\.\ds", "", text)
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_a_log_tells_every_attempt_below_its_own_heading(restarted: Project) -> None:
    told = lines(restarted.run("log", "last").out)
    assert told[0].startswith("demo  version=2")
    assert told[1:] == [
        *[
            "attempt 1",
            "started by a script",
            "● make",
            "✓ x",
            "✓ make",
            "● test",
            "✗ t  `test` ended with 1",
            "✗ failed",
        ],
        *["attempt 2", "started again by a script", "✓ make  kept from the attempt before", "● test", "✓ t", "✓ test"],
        "✓ completed",
    ]


def test_a_log_says_who_resumed_a_run_and_who_answered(project: Project) -> None:
    form = "{formId: who, title: Who?, fields: [{id: who, type: text, label: Who}]}"
    project.write(
        ".handrail/flows/ask.yaml", f"phases:\n- {{id: a, steps: [{{id: x, node: user-input, params: {form}}}]}}\n"
    )
    project.json("run", "ask", code=4)
    project.json("answer", "last", "who=Ada")
    told = lines(project.run("log", "last").out)
    assert told[1] == "started by a script"
    assert [line for line in told if "resumed" in line] == ["resumed by a script"]
    assert [line for line in told if "answered" in line] == ["a/x: answered by a script: who=Ada"]


def test_one_attempt_can_be_chosen(restarted: Project) -> None:
    told = lines(restarted.run("log", "last", "--attempt", "1").out)
    assert (told[1], told[-1]) == ("attempt 1", "✗ failed")
    said = restarted.run("log", "last", "--attempt", "3")
    assert (said.code, "has no attempt 3" in said.err, "attempts: 1, 2" in said.err) == (1, True, True)
    assert restarted.run("log", "last", "--follow", "--attempt", "1").code == 2


def test_programs_get_the_events_of_all_attempts(restarted: Project) -> None:
    one_by_one = [json.loads(line) for line in restarted.run("log", "last", "--events").out.splitlines()]
    assert one_by_one == restarted.json("log", "last")["events"]
    assert {event["runAttempt"] for event in one_by_one} == {1, 2}
    last = restarted.json("log", "last", "--attempt", "2")["events"]
    assert last == [event for event in one_by_one if event["runAttempt"] == 2]
    followed = restarted.run("log", "last", "--follow", "--events").out
    assert [json.loads(line) for line in followed.splitlines()] == one_by_one


def test_a_run_with_one_attempt_has_no_heading_for_it(project: Project) -> None:
    project.write(".handrail/flows/demo.yaml", FLOW)
    project.json("run", "demo", code=1)
    assert "attempt" not in project.run("log", "last").out


HEARD: list[float | str] = []


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if event == "open" and str(args[0]).endswith("/journal"):
        HEARD.append("journal")


sys.addaudithook(_hook)  # it cannot be removed


def test_following_an_idle_run_looks_seldom_and_reads_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write(".handrail/flows/demo.yaml", FLOW)
    project.json("run", "demo", code=1)
    (journal,) = (project.home / "state" / "runs").rglob("journal")
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))  # nothing says that it ended
    (journal.parents[1] / "summary").unlink()
    os.utime(journal, (1, 1))

    def sleep(seconds: float) -> None:
        HEARD.append(seconds)
        if len(HEARD) > 30:
            raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", sleep)
    monkeypatch.setattr(history, "PATIENCE", 1e9)
    HEARD.clear()
    assert project.run("log", "last", "--follow").code == 130
    pauses = [event for event in HEARD if isinstance(event, float)]
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (history.LOOK_AGAIN, history.SELDOM)
    assert "journal" not in HEARD[-15:], "it is read twice, then only looked at"


@pytest.mark.whole
def test_following_ends_if_no_process_drives_the_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver was killed. A run that has not begun yet is given some time first."""
    monkeypatch.setattr(history, "PATIENCE", 0.3)
    step = "{id: x, node: command, params: {argv: [/bin/sh, -c, 'kill -9 $PPID']}}"
    project.write(".handrail/flows/demo.yaml", f"phases:\n- {{id: a, steps: [{step}]}}\n")
    project.process("run", "demo")
    run = project.json("runs")["runs"][0]["run"]
    said = project.run("log", "last", "--follow")
    assert (said.code, "● x" in said.out) == (0, True)
    assert said.err == f"! interrupted: no process drives this run; `handrail resume {run}` resumes it\n"


def test_a_list_and_a_log_show_a_number_as_it_was_written(project: Project) -> None:
    project.write(".handrail/flows/demo.yaml", FLOW)
    project.run("run", "demo", "--param", "version=1.10")
    assert "version=1.10" in project.run("runs").out
    (next((project.home / "state" / "runs").rglob("summary"))).unlink()
    assert "version=1.10" in project.run("runs").out
    assert "version=1.10" in project.run("log", "last").out


@pytest.fixture
def ended(project: Project) -> str:
    """The id of a session that is done. Its second phase could not be left at first."""
    project.workflow("ship", ["plan", "build"])
    project.phase("ship", "build", "exit: [{file: out.txt}]\n")
    id_ = str(project.json("start", "ship", "a login page")["session"])
    project.run("next", "--summary", "three steps")
    project.run("next", "--summary", "too early")
    project.write("out.txt", "done")
    project.run("next", "--summary", "it is there")
    return id_


def test_the_log_of_a_session_tells_its_phases_summaries_and_checks(project: Project, ended: str) -> None:
    said = project.run("log", ended)
    assert said.code == 0, said.err
    told = [line.split("  ", 1)[-1].strip() for line in said.out.splitlines()[2:]]
    assert [line.partition(" ")[0] for line in told] == ["●", "summary:", "●", "!", "✓", "summary:", "✓"], said.out
    assert (told[1], told[5]) == ("summary: three steps", "summary: it is there")
    assert "`out.txt` does not exist" in told[3]
    assert "`out.txt`" in told[4]
    assert ended in said.out.splitlines()[0]


def test_the_events_of_a_session_are_data(project: Project, ended: str) -> None:
    data = project.json("log", ended)
    kinds = ["Started", "Moved", "Checked", "Checked", "Finished"]
    assert (data["session"], [event["type"] for event in data["events"]][:5]) == (ended, kinds)
    lines_ = project.run("log", ended, "--events").out.splitlines()
    assert [json.loads(line) for line in lines_] == data["events"]


def test_a_session_cannot_be_followed(project: Project, ended: str) -> None:
    said = project.run("log", ended, "--follow")
    assert (said.code, "cannot be followed" in said.err) == (2, True)


def test_the_log_of_a_blocked_session_has_two_sentences(project: Project) -> None:
    project.workflow("ship", ["plan"])
    project.json("start", "ship", "x", "--session", "s")
    project.json("blocked", "there is no key.", "--question", "Where is it?")
    assert "cannot go on in Plan: there is no key. It asks: Where is it?" in project.run("log", "s").out
