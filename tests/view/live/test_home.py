"""Home while things happen: what is read, what is not, and what a person sees."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from copied_runs import copy_run
from handrail.app import App
from handrail.base import locks
from handrail.base.jsonlite import encode_line
from handrail.driven.engines.embedded.run_folders import announce
from handrail.view.live.home import LiveHome, OpenedRows, mark_seen
from handrail.view.live.hub import open_topic
from handrail.view.live.run import with_tail
from support import Project

WAIT = "sh, -c, 'touch begun; until [ -e go ] || [ $((n+=1)) -gt 6000 ]; do sleep 0.02; done'"
FLOW = f"""
params: {{task: null}}
phases:
- {{id: first, steps: [{{id: note, node: set, params: {{x: 1}}}}]}}
- repeat: {{var: i, to: 2}}
  phases: [{{id: "hold-${{i}}", steps: [{{id: on, node: command, rerun: safe, params: {{argv: [{WAIT}]}}}}]}}]
"""
ASK = """
phases:
- id: ask
  steps:
  - {id: go, node: user-input, params: {formId: f, title: Release?, fields: [{id: go, type: text, label: Go}]}}
"""
FAIL = "phases: [{id: a, steps: [{id: x, node: command, params: {argv: [test, -e, ready]}}]}]\n"
MANY = 500
LOOK = """
import json, os, sys, time
from handrail.app import App
from handrail.view.live.home import LiveHome

opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
app = App(sys.argv[1], os.environ)
app.runs
del opened[:]
before = time.process_time()
home = LiveHome(app)
took = time.process_time() - before
first = [os.path.basename(path) for path in opened]
rows = home.topic.rows
seq = rows.seq
del opened[:]
before = time.process_time()
for _ in range(20):
    home.refresh()
idle = (time.process_time() - before) / 20
counts = {name: first.count(name) for name in ("journal", "about", "summary")}
entries = sorted(rows.section("entries"), key=lambda row: row["order"])
print(json.dumps({
    "first": counts, "later": [path for path in opened if "HEAD" not in path], "changed": rows.seq - seq,
    "head": rows.get("head", ""), "ids": [row["id"] for row in entries], "took": took, "idle": idle,
}))
"""


def app_in(project: Project) -> App:
    return App(str(project.folder), os.environ)


def until(home: LiveHome, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The rows of home, by id, as soon as this holds for them."""
    end = time.monotonic() + 20
    while True:
        home.refresh()
        rows = {row["id"]: row for row in home.topic.rows.section("entries")}
        if holds(rows):
            return rows
        assert time.monotonic() < end, rows
        time.sleep(0.02)


def copies(run: Path, count: int) -> list[str]:
    """Further runs with the same files, each under an id of its own."""
    ids = [f"r-c{number:05}" for number in range(count)]
    for id_ in ids:
        copy_run(run, id_)
    return ids


@pytest.mark.whole
def test_home_with_many_ended_runs_reads_summaries_and_no_journal(project: Project) -> None:
    project.write(".handrail/flows/fail.yaml", FAIL)
    project.write("ready", "")
    run = project.json("run", "fail")["run"]
    app = app_in(project)
    copies(Path(app.places.runs(app.project)) / run, MANY - 1)
    said = subprocess.run(
        [sys.executable, "-c", LOOK, str(project.folder)], capture_output=True, text=True, check=True, env=os.environ
    )
    found = json.loads(said.stdout)
    assert found["first"] == {"journal": 0, "about": 0, "summary": MANY}
    assert len(found["ids"]) == 100
    assert (found["head"]["ended"], found["head"]["older"]) == (MANY, MANY - 100)
    assert (found["later"], found["changed"]) == ([], 0)
    print(f"home with {MANY} ended runs: opened in {found['took']:.3f} s, idle look {found['idle'] * 1e6:.0f} µs")


def test_a_summary_that_is_missing_damaged_or_old_is_made_again(project: Project) -> None:
    project.write(".handrail/flows/fail.yaml", FAIL)
    run = project.json("run", "fail", code=1)["run"]
    app = app_in(project)
    folder = Path(app.places.runs(app.project)) / run
    wanted = LiveHome(app).topic.rows.section("entries")
    good = (folder / "summary").read_bytes()
    for text in (None, b"nonsense", good[:-9], good.replace(b'"format":4', b'"format":3')):
        (folder / "summary").unlink()
        if text is not None:
            (folder / "summary").write_bytes(text)
        assert LiveHome(app).topic.rows.section("entries") == wanted
        assert (folder / "summary").read_bytes() == good
    project.write("ready", "")
    project.json("resume", run)
    (folder / "summary").write_bytes(good)  # as if the driver had been killed before it wrote its own
    (row,) = LiveHome(app).topic.rows.section("entries")
    assert (row["status"], row["done"], row["total"]) == ("completed", 1, 1)


@pytest.mark.whole
def test_a_run_appears_while_it_happens_and_needs_a_person_after_a_kill(project: Project) -> None:
    project.write(".handrail/flows/demo.yaml", FLOW)
    home = LiveHome(app_in(project))
    id_ = project.json("run", "demo", "cart", "--detach")["run"]
    key, begun = f"run:{id_}", project.folder / "begun"
    rows = until(home, lambda rows: key in rows and rows[key]["place"] == ["hold", "on"] and begun.exists())
    row = rows[key]
    assert (row["group"], row["status"], row["name"], row["about"]) == ("running", "running", "demo", "cart")
    assert (row["round"], row["done"], row["total"], row["modes"]) == ([1, 2], 1, 3, [])
    os.kill(row["driver"], signal.SIGKILL)
    row = until(home, lambda rows: rows[key]["driver"] is None)[key]
    assert (row["group"], row["why"]["code"]) == ("running", "program-running")
    project.write("go", "")
    row = until(home, lambda rows: rows[key]["group"] == "needs")[key]
    assert (row["status"], row["why"]["code"], row["place"]) == ("interrupted", "interrupted", ["hold", "on"])
    assert row["modes"] == ["resume", "restart"]
    project.json("resume", id_)
    row = until(home, lambda rows: rows[key]["group"] == "recent")[key]
    assert (row["status"], row["done"], row["why"], row["seen"]) == ("completed", 3, None, False)
    assert row["seconds"] > 0


@pytest.mark.whole
def test_what_a_run_prints_is_a_sign_of_life_and_counts_after_a_kill(project: Project) -> None:
    project.write(".handrail/flows/demo.yaml", FLOW)
    app = app_in(project)
    home = LiveHome(app)
    id_ = project.json("run", "demo", "cart", "--detach")["run"]
    key, begun = f"run:{id_}", project.folder / "begun"
    row = until(home, lambda rows: key in rows and rows[key]["place"] == ["hold", "on"] and begun.exists())[key]
    printed = Path(app.places.runs(app.project)) / id_ / "1" / "activity"
    at = row["last"] + 90.0
    printed.touch()

    def is_heard(rows: dict[str, Any]) -> bool:
        os.utime(printed, (at, at))  # each time: its driver writes what happened before
        return bool(rows[key]["last"] > at - 1)

    assert until(home, is_heard)[key]["group"] == "running"
    os.kill(row["driver"], signal.SIGKILL)
    project.write("go", "")
    row = until(home, lambda rows: rows[key]["group"] == "needs")[key]
    assert 90.0 <= row["seconds"] < 100.0
    assert row["atLeast"] is True
    assert project.json("runs", id_)["seconds"] == pytest.approx(row["seconds"], abs=0.01)
    project.json("stop", id_)
    row = until(home, lambda rows: rows[key]["group"] == "recent")[key]
    head = open_topic(app, key).topic.rows.section("head")[0]
    assert 90.0 <= row["seconds"] == pytest.approx(head["seconds"], abs=0.01)


def test_a_question_needs_a_person_until_it_is_answered(project: Project) -> None:
    project.write(".handrail/flows/ask.yaml", ASK)
    home = LiveHome(app_in(project))
    key = f"run:{project.json('run', 'ask', code=4)['run']}"
    row = until(home, lambda rows: key in rows)[key]
    assert (row["group"], row["status"], row["place"]) == ("needs", "waiting", ["ask", "go"])
    need = row["need"]
    assert (need["count"], need["kind"], need["title"], need["fields"]) == (1, "form", "Release?", 1)
    project.json("answer", key[4:], "--file", str(project.write("answers.json", '{"go": "yes"}')))
    assert until(home, lambda rows: rows[key]["group"] == "recent")[key]["need"] is None


def test_a_failure_needs_a_person_until_somebody_opens_it(project: Project) -> None:
    project.write(".handrail/flows/fail.yaml", FAIL)
    app = app_in(project)
    home = LiveHome(app)
    key = f"run:{project.json('run', 'fail', code=1)['run']}"
    row = until(home, lambda rows: key in rows)[key]
    assert (row["group"], row["seen"], row["why"]["path"]) == ("needs", False, "a/x")
    mark_seen(app, key)
    assert until(home, lambda rows: rows[key]["group"] == "recent")[key]["seen"]
    mark_seen(app, key, is_seen=False)
    until(home, lambda rows: rows[key]["group"] == "needs")
    mark_seen(app, key)
    project.json("resume", key[4:], code=1)
    until(home, lambda rows: rows[key]["group"] == "needs")
    Path(OpenedRows(app).path).write_text("[nonsense", encoding="utf-8")
    mark_seen(app, key)
    until(home, lambda rows: rows[key]["group"] == "recent")


def test_a_run_that_is_resumed_runs_again_although_its_driver_records_that_later(project: Project) -> None:
    project.write(".handrail/flows/fail.yaml", FAIL)
    app = app_in(project)
    home = LiveHome(app)
    key = f"run:{project.json('run', 'fail', code=1)['run']}"
    until(home, lambda rows: key in rows)
    folder = Path(app.places.runs(app.project)) / key[4:]
    journal = folder / "1" / "journal"
    known = journal.read_bytes().rstrip(b"\0")
    lock = locks.acquire(str(folder / "lock"))
    assert lock is not None
    try:
        announce(str(folder))
        assert until(home, lambda rows: rows[key]["driver"] is not None)[key]["status"] == "failed"
        resumed: dict[str, Any] = {
            "type": "RunResumed",
            "mode": "resume",
            "rewound": [],
            "until": None,
            "t": time.time(),
        }
        journal.write_bytes(known + encode_line({"n": known.count(b"\n"), "events": [resumed]}))
        row = until(home, lambda rows: rows[key]["group"] == "running")[key]
        assert (row["status"], row["why"], row["ended"], row["modes"]) == ("running", None, None, [])
    finally:
        os.close(lock)
    assert until(home, lambda rows: rows[key]["driver"] is None)[key]["status"] == "interrupted"


def test_several_processes_mark_what_they_opened(project: Project) -> None:
    code = """
import os, sys
from handrail.app import App
from handrail.view.live.home import mark_seen
app = App(sys.argv[1], os.environ)
for number in range(25):
    mark_seen(app, f"run:{sys.argv[2]}-{number}")
"""
    argv = [sys.executable, "-c", code, str(project.folder)]
    started = [subprocess.Popen([*argv, str(number)], env=os.environ) for number in range(3)]
    assert [process.wait() for process in started] == [0, 0, 0]
    seen = OpenedRows(app_in(project))
    assert seen.refresh()
    assert len(seen.times) == 75
    assert not seen.refresh()


def test_a_damaged_run_is_a_row_and_does_not_hide_the_others(project: Project) -> None:
    project.write(".handrail/flows/fail.yaml", FAIL)
    project.write("ready", "")
    app = app_in(project)
    first, second = (project.json("run", "fail")["run"] for _ in range(2))
    folder = Path(app.places.runs(app.project)) / first
    journal = folder / "1" / "journal"
    lines = journal.read_bytes().split(b"\n")
    journal.write_bytes(b"\n".join([lines[0], b"x" + lines[1][1:], *lines[2:]]))
    rows = until(LiveHome(app), lambda rows: len(rows) == 2)
    assert (rows[f"run:{first}"]["status"], rows[f"run:{first}"]["group"]) == ("damaged", "needs")
    assert rows[f"run:{first}"]["why"]["message"].startswith("cannot be read: the journal")
    assert rows[f"run:{second}"]["status"] == "completed"
    said = project.run("log", first)
    assert said.code == 1
    assert "damaged at record 1" in said.err
    assert "fail" in said.out


def test_a_run_whose_journal_is_damaged_while_it_is_driven_is_a_damaged_row(project: Project) -> None:
    project.write(".handrail/flows/fail.yaml", FAIL)
    project.write("ready", "")
    app = app_in(project)
    first, second = (project.json("run", "fail")["run"] for _ in range(2))
    folder = Path(app.places.runs(app.project)) / first
    journal = folder / "1" / "journal"
    whole = journal.read_bytes().rstrip(b"\0")
    lines = whole.splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]))
    (folder / "summary").unlink()
    lock = locks.acquire(str(folder / "lock"))
    assert lock is not None
    try:
        for wrong in (
            b"x" + lines[-1][1:] + lines[-1],
            encode_line({"n": len(lines) - 1, "events": [{"type": "Asked"}]}),
        ):
            journal.write_bytes(b"".join(lines[:-1]))
            home = LiveHome(app)
            assert until(home, bool)[f"run:{first}"]["group"] == "running"
            journal.write_bytes(b"".join(lines[:-1]) + wrong)
            rows = until(home, lambda rows: rows[f"run:{first}"]["status"] == "damaged")
            assert rows[f"run:{second}"]["status"] == "completed"
    finally:
        os.close(lock)


def test_a_session_is_a_row_that_moves_with_its_phases(project: Project) -> None:
    project.workflow("demo", ["plan", "build"])
    home = LiveHome(app_in(project))
    session = project.json("start", "demo", "login page")["session"]
    key = f"session:{session}"
    row = until(home, lambda rows: key in rows)[key]
    assert (row["group"], row["name"], row["about"], row["place"]) == ("running", "Demo", "login page", ["Plan"])
    assert (row["done"], row["total"]) == (0, 2)
    project.json("next", "--session", session)
    assert until(home, lambda rows: rows[key]["done"] == 1)[key]["place"] == ["Build"]
    folder = Path(app_in(project).places.session(str(project.folder), session))
    (folder / "let-go").write_text("no progress", encoding="utf-8")
    row = until(home, lambda rows: rows[key]["group"] == "needs")[key]
    assert row["why"]["message"] == "no progress"
    project.json("cancel", "--session", session, "--yes")
    assert until(home, lambda rows: rows[key]["group"] == "recent")[key]["status"] == "cancelled"


def test_a_subworkflow_counts_as_one_phase_of_a_session_as_in_its_status_line(project: Project) -> None:
    project.workflow("check", ["look", "test"])
    project.workflow("demo", ["@check", "build"])
    home = LiveHome(app_in(project))
    key = f"session:{project.json('start', 'demo', 'login page')['session']}"
    row = until(home, lambda rows: key in rows)[key]
    assert (row["done"], row["total"]) == (0, 2)
    assert "[1/2] > " in row["statusLine"]
    project.json("next")
    row = until(home, lambda rows: rows[key]["place"][-1] == "Test")[key]
    assert (row["done"], row["total"]) == (0, 2)


def test_a_run_that_a_person_rejected_says_so_on_home_and_in_its_tail(project: Project) -> None:
    project.write(
        ".handrail/flows/ask.yaml", "phases: [{id: a, steps: [{id: b, node: approve, params: {question: Go?}}]}]"
    )
    run = project.json("run", "ask", code=4)["run"]
    answers = project.write("no.json", '{"approve": {"approved": false, "reason": "not now"}}')
    assert project.json("answer", run, "--file", str(answers), code=1)["status"] == "stopped"
    home = LiveHome(app_in(project))
    why = until(home, lambda rows: f"run:{run}" in rows)[f"run:{run}"]["why"]
    assert (why["path"], why["message"]) == ("a/b", "rejected: not now")
    live = open_topic(app_in(project), f"run:{run}")
    (message,) = with_tail(live, list(live.messages("", 0, 0.0)), "", 0)
    assert ("rejected", "not now") in [(row["kind"], row["text"]) for row in message["tail"]["rows"]]
