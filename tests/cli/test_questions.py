"""Stories of questions and answers: an answer names its question, and a late one is refused and leaves nothing."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.app import App
from handrail.base.errors import DefinitionError
from handrail.view.actions import Actions
from handrail.view.live.home import LiveHome
from support import Project

HANDRAIL = os.path.join(os.path.dirname(sys.executable), "handrail")
FORM = "{{formId: {id}, title: '{id}?', fields: [{{id: who, type: text, label: Who}}]}}"
ASK = "  - {{id: {id}, node: user-input, params: {form}}}\n"


def form_step(id_: str) -> str:
    return ASK.format(id=id_, form=FORM.format(id=id_))


def asking(project: Project, *ids: str, name: str = "asking") -> dict[str, Any]:
    """A run that waits for the first of these forms; each is a phase of its own."""
    text = "".join(f"- id: {id_}\n  steps:\n{form_step(id_)}" for id_ in ids)
    project.write(f".handrail/flows/{name}.yaml", f"continue: again\nphases:\n{text}")
    return project.json("run", name, code=4)


def parallel(project: Project) -> dict[str, Any]:
    """A run that waits for two forms at once."""
    phases = "".join(f"  - id: {id_}\n    steps:\n    {form_step(id_).strip()}\n" for id_ in ("a", "b"))
    project.write(".handrail/flows/both.yaml", f"phases:\n- parallel: {{limit: 2}}\n  phases:\n{phases}")
    return project.json("run", "both", code=4)


def files_of(project: Project) -> dict[str, bytes]:
    """Every file of every run, without the lock, which every reader touches."""
    found = [path for path in (project.home / "state" / "runs").rglob("*") if path.is_file() and path.name != "lock"]
    return {str(path): path.read_bytes() for path in found}


def letter(project: Project, text: str = "who: Ada\n") -> str:
    return str(project.write("letter.yaml", text))


def events(project: Project, run: str, kind: str) -> list[dict[str, Any]]:
    return [event for event in project.json("log", run)["events"] if event["type"] == kind]


def test_a_question_has_an_id_that_every_command_shows(project: Project) -> None:
    run = asking(project, "a")
    assert [question["id"] for question in run["questions"]] == ["q1"]
    assert run["waitingFor"] == [{"question": "q1", "path": "a/a", "title": "a?"}]
    assert project.json("runs")["runs"][0]["waitingFor"] == run["waitingFor"]
    assert [event["id"] for event in events(project, run["run"], "Asked")] == ["q1"]
    assert project.json("resume", run["run"], code=4)["questions"][0]["id"] == "q1", "the same over several lives"
    assert project.json("answer", run["run"], "--show")["question"] == "q1"
    assert "q1" in project.run("resume", run["run"]).err


def test_show_prints_an_answers_file_that_can_be_filled_in(project: Project) -> None:
    run = asking(project, "a")["run"]
    said = project.run("answer", run, "--show")
    template = json.loads(said.out)
    assert "a?" in said.err
    assert project.json("answer", run, "--show")["answers"] == template
    (form,) = template
    assert (
        project.json("answer", run, "--file", letter(project, json.dumps({form: {"who": "Ada"}})))["status"]
        == "completed"
    )


def test_an_answer_names_its_question(project: Project) -> None:
    run = asking(project, "a", "b")
    waiting = project.json("answer", run["run"], "--question", "q1", "--file", letter(project), code=4)
    assert (waiting["status"], [question["id"] for question in waiting["questions"]]) == ("waiting", ["q2"])
    assert [event["id"] for event in events(project, run["run"], "Answered")] == ["q1"]


def test_without_an_id_only_a_single_question_can_be_answered(project: Project) -> None:
    run = parallel(project)
    before = files_of(project)
    said = project.run("answer", run["run"], "--file", letter(project))
    assert said.code == 1
    assert "`q1` (`a/a`: a?), `q2` (`b/b`: b?)" in said.err
    assert f"hint: `handrail answer {run['run']} --question q1` answers the first one" in said.err
    assert files_of(project) == before
    assert (
        project.json("answer", run["run"], "--question", "q2", "--file", letter(project), code=4)["answered"] is False
    )
    assert project.json("answer", run["run"], "--file", letter(project))["status"] == "completed"


def test_a_late_answer_is_refused_and_leaves_nothing(project: Project) -> None:
    run = asking(project, "a", "b")
    project.json("answer", run["run"], "--question", "q1", "--file", letter(project), code=4)
    before = files_of(project)
    said = project.run("answer", run["run"], "--question", "q1", "--file", letter(project, "who: Eve\n"))
    assert said.code == 1
    assert "question `q1` of run" in said.err
    assert "was already answered" in said.err
    assert "`q2`" in said.err, "the hint names the question that is open"
    assert files_of(project) == before
    assert project.json("resume", run["run"], code=4)["questions"][0]["id"] == "q2"


def test_an_answer_to_an_unknown_question_is_refused(project: Project) -> None:
    run = asking(project, "a")
    before = files_of(project)
    said = project.run("answer", run["run"], "--question", "q7", "--file", letter(project))
    assert said.code == 1
    assert "has no question `q7`" in said.err
    assert files_of(project) == before


def test_a_restart_asks_another_question(project: Project) -> None:
    run = asking(project, "a")
    again = project.json("restart", run["run"], code=4)
    assert [question["id"] for question in again["questions"]] == ["q2.1"]
    before = files_of(project)
    said = project.run("answer", run["run"], "--question", "q1", "--file", letter(project))
    assert (said.code, files_of(project)) == (1, before)
    assert "has no question `q1` in its current attempt" in said.err


def test_a_run_that_is_continued_asks_another_question(project: Project) -> None:
    run = asking(project, "a")
    project.json("answer", run["run"], "--file", letter(project))
    again = project.json("continue", run["run"], code=4)
    assert [question["id"] for question in again["questions"]] == ["q2"]
    assert (
        "was already answered" in project.run("answer", run["run"], "--question", "q1", "--file", letter(project)).err
    )


@pytest.mark.whole
def test_of_several_answers_at_once_exactly_one_is_accepted(project: Project) -> None:
    run = asking(project, "a")["run"]
    names = [f"n{number}" for number in range(4)]
    argv = [[HANDRAIL, "answer", run, "--question", "q1", "--file", letter_of(project, name)] for name in names]
    started = [subprocess.Popen(one, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for one in argv]
    said = {name: (one.communicate()[1], one.returncode) for name, one in zip(names, started, strict=True)}
    won = [name for name, (_, code) in said.items() if code == 0]
    (answered,) = events(project, run, "Answered")
    assert won == [answered["values"]["who"]]
    assert all("question `q1`" in err or "does not wait" in err for err, code in said.values() if code)
    assert not list((project.home / "state" / "runs").rglob("inbox/*"))


def letter_of(project: Project, name: str) -> str:
    return str(project.write(f"{name}.yaml", f"who: {name}\n"))


@pytest.mark.whole
def test_a_late_rerun_again_does_not_run_a_third_time(project: Project) -> None:
    step = "{id: x, node: command, params: {argv: [/bin/sh, -c, 'echo x >> log; read line < gate']}}"
    project.write(".handrail/flows/once.yaml", f"phases:\n- id: a\n  steps:\n  - {step}\n")
    os.mkfifo(project.folder / "gate")
    run = killed_in_x(project, "run", "once")
    assert project.json("resume", run, code=4)["waitingFor"][0]["question"] == "q1"
    again = letter(project, "rerun: again\n")
    killed_in_x(project, "answer", run, "--question", "q1", "--file", again)
    assert project.json("resume", run, code=4)["waitingFor"][0]["question"] == "q2"
    (project.folder / "gate").unlink()
    project.write("gate", "a third run would not wait\n")
    said = project.run("answer", run, "--question", "q1", "--file", again)
    assert said.code == 1
    assert "was already answered" in said.err
    assert project.json("resume", run, code=4)["status"] == "waiting"
    assert (project.folder / "log").read_text().split() == ["x", "x"]


def killed_in_x(project: Project, *argv: str) -> str:
    """Kill the driver while the step is running. The program of the step ends, too. Returns the id of the run."""
    with subprocess.Popen([HANDRAIL, *argv, "--events"], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        while "NodeStarted" not in driver.stdout.readline():
            pass
        with open(project.folder / "gate", "w"):  # opened by the step, so it has written its line
            driver.send_signal(signal.SIGKILL)
    return str(project.json("runs")["runs"][0]["run"])


@pytest.mark.parametrize("key", ["q1", "a/a", "a"])
def test_an_answers_file_is_keyed_by_question_path_or_form(project: Project, key: str) -> None:
    run = asking(project, "a")["run"]
    file = letter(project, json.dumps({key: {"who": "Ada"}, "other": {"who": "Eve"}}))
    assert project.json("resume", run, "--answers", file)["status"] == "completed"
    assert events(project, run, "Answered")[0]["values"] == {"who": "Ada"}


@pytest.mark.parametrize("command", ["resume", "answer"])
def test_an_answer_whose_process_died_before_it_drove_the_run_is_used(project: Project, command: str) -> None:
    run = asking(project, "a")["run"]
    (attempt,) = (path.parent for path in (project.home / "state" / "runs").rglob("journal"))
    (attempt / "inbox").mkdir()
    (attempt / "inbox" / "q1").write_text(json.dumps({"values": {"who": "Ada"}, "by": "person"}))
    if command == "answer":
        said = project.run("answer", run, "--file", letter(project, "who: Eve\n"))
        assert said.code == 1
        assert "already has an answer" in said.err
    assert project.json("resume", run)["status"] == "completed"
    assert events(project, run, "Answered")[0]["values"] == {"who": "Ada"}


def store_answer(project: Project, text: str) -> Path:
    """Store an answer to the first question, as a process does that dies before it drives the run."""
    (journal,) = (project.home / "state" / "runs").rglob("journal")
    inbox = journal.with_name("inbox")
    inbox.mkdir()
    (inbox / "q1").write_text(text)
    return inbox / "q1"


ADA = json.dumps({"values": {"who": "Ada"}, "by": "person"})


@pytest.mark.parametrize("code", [errno.EMFILE, errno.EIO], ids=errno.errorcode.get)
def test_an_answer_that_cannot_be_read_now_is_kept(
    project: Project, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    run = asking(project, "a")["run"]
    stored = store_answer(project, ADA)
    real = os.open

    def failing(path: str, *more: Any, **named: Any) -> int:
        if os.fspath(path) == str(stored):
            raise OSError(code, os.strerror(code), path)
        return real(path, *more, **named)

    with monkeypatch.context() as patch:
        patch.setattr("os.open", failing)
        said = project.run("resume", run)
    assert said.code == 1
    assert f"the answer `{stored}` cannot be read: {os.strerror(code)}" in said.err
    assert "hint: " in said.err
    assert stored.read_text() == ADA
    assert project.json("resume", run)["status"] == "completed"


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"values": {"who": 7}}', '{"values":' * 3000])
def test_a_stored_answer_that_is_not_valid_is_put_aside_and_said(project: Project, text: str) -> None:
    run = asking(project, "a")["run"]
    stored = store_answer(project, text)
    assert project.json("resume", run, code=4)["status"] == "waiting"
    aside = stored.parents[1] / "q1.invalid"
    assert aside.read_text() == text
    assert f"it is now `{aside}`" in events(project, run, "Noticed")[0]["text"]
    assert project.json("answer", run, "who=Ada")["status"] == "completed"


def test_a_run_whose_answer_nobody_uses_is_answered_everywhere(project: Project) -> None:
    run = asking(project, "a")["run"]
    store_answer(project, ADA)
    row = project.json("runs")["runs"][0]
    assert (row["status"], row["answered"], row["hint"]) == ("waiting", True, f"handrail resume {run}")
    assert "! answered" in project.run("runs").out
    assert "answered" in project.run("runs", run).out
    home = LiveHome(App(str(project.folder), os.environ))
    home.refresh()
    (entry,) = home.topic.rows.section("entries")
    assert (entry["group"], entry["status"], entry["need"]) == ("needs", "answered", None)
    assert "resume" in entry["modes"]
    assert project.json("resume", run)["answered"] is False
    assert project.json("runs")["runs"][0]["answered"] is False


def test_an_answer_whose_run_cannot_be_driven_now_is_stored_and_said(project: Project) -> None:
    run = asking(project, "a")["run"]
    settings = project.write(".handrail/settings.yaml", "pass_env: [X]\n")
    said = project.run("answer", run, "who=Ada")
    assert said.code == 2, said
    assert "the answer to q1 is stored\nthe settings have an error" in said.err
    assert "answered" in said.out
    settings.unlink()
    assert "already has an answer" in project.run("answer", run, "who=Eve").err
    assert project.json("answer", run)["status"] == "completed"
    assert events(project, run, "Answered")[0]["values"] == {"who": "Ada"}


def test_the_same_answer_again_drives_the_run(project: Project) -> None:
    run = asking(project, "a")["run"]
    store_answer(project, ADA)
    assert project.json("answer", run, "who=Ada")["status"] == "completed"


def test_a_surface_refuses_what_its_driver_would_refuse(project: Project) -> None:
    run = asking(project, "a")["run"]
    project.write(".handrail/settings.yaml", "pass_env: [X]\n")
    app = App(str(project.folder), os.environ, by="person")
    (asked,) = app.runs.load(run).state.questions.values()
    with pytest.raises(DefinitionError, match="the settings have an error"):
        asyncio.run(Actions(app, "tui").answer(run, "q1", asked.input, {"who": "Ada"}))
    with pytest.raises(DefinitionError, match="the settings have an error"):
        Actions(app, "tui").resume(run, "resume")
    assert not app.runs.load(run).history.is_answered


def test_a_journal_of_0_1_0_without_ids_can_be_answered(project: Project) -> None:
    run = asking(project, "a")["run"]
    forget_ids(project)
    assert project.json("resume", run, code=4)["questions"][0]["id"] == "q1"
    assert project.json("answer", run, "--question", "q1", "--file", letter(project))["status"] == "completed"


def forget_ids(project: Project) -> None:
    """Rewrite the journal as 0.1.0 would have written it."""
    from handrail.base import journal, jsonlite

    (path,) = (project.home / "state" / "runs").rglob("journal")
    _, *records = journal.read(str(path)).records
    for number, record in enumerate(records):
        record["n"] = number
        for event in record["events"]:
            event.pop("id", None)
            event.pop("by", None)
    path.write_bytes(b"".join(jsonlite.encode_line(record) for record in records))
    about = path.with_name("about")
    about.write_bytes(about.read_bytes().splitlines(keepends=True)[0])
    (path.parents[1] / "summary").unlink()


@pytest.mark.parametrize(
    ("then", "code", "status"),
    [
        ("node: command, params: {argv: ['false']}", 1, "failed"),
        ("node: command, timeout: 0.01, params: {argv: [sleep, '60']}", 3, "failed"),
        ("node: approve, params: {question: Go?}", 4, "waiting"),
        ("node: command, params: {argv: ['true']}", 0, "completed"),
    ],
)
def test_an_answer_is_said_to_be_stored_and_the_command_ends_as_resume_would(
    project: Project, then: str, code: int, status: str
) -> None:
    text = f"phases:\n- id: a\n  steps:\n{form_step('a')}  - {{id: y, {then}}}\n"
    project.write(".handrail/flows/then.yaml", text)
    run = project.json("run", "then", code=4)["run"]
    answered = project.json("answer", run, "--file", letter(project), code=code)
    assert (answered["status"], answered["stored"]) == (status, "q1")
    other = project.json("run", "then", code=4)["run"]
    said = project.run("answer", other, "--file", letter(project))
    assert (said.code, "the answer to q1 is stored" in said.err) == (code, True), said


@pytest.mark.parametrize("status", ["cancelled", "failed", "completed"])
def test_only_a_waiting_run_takes_an_answer(project: Project, status: str) -> None:
    run = asking(project, "a")["run"]
    if status == "cancelled":
        project.run("stop", run)
    elif status == "failed":
        text = (project.folder / ".handrail/flows/asking.yaml").read_text()
        other = "  - id: b\n    steps:\n    - {id: y, node: command, params: {argv: ['false']}}\n"
        phases = text.replace("continue: again\nphases:\n", "").replace("\n", "\n  ").rstrip()
        flow = f"phases:\n- parallel: {{limit: 2, onFailure: finish}}\n  phases:\n  {phases}\n{other}"
        project.write(".handrail/flows/bad.yaml", flow)
        run = project.json("run", "bad", code=1)["run"]
    else:
        project.json("answer", run, "--file", letter(project))
    before = files_of(project)
    said = project.run("answer", run, "--file", letter(project))
    assert said.code == 1
    assert f"is {status}: it does not wait for an answer" in said.err
    assert status == "completed" or f"handrail resume {run}" in said.err
    assert files_of(project) == before


def test_last_is_the_run_that_was_created_last(project: Project) -> None:
    first = asking(project, "a")["run"]
    second = asking(project, "a", name="second")["run"]
    assert project.run("stop", first).code == 0
    for folder, _, names in os.walk(project.home / "state" / "runs"):
        for path in [folder, *(os.path.join(folder, name) for name in names)]:
            if first in path:
                os.utime(path)
    assert [run["run"] for run in project.json("runs")["runs"]] == [second, first]
    assert project.json("answer", "last", "--file", letter(project))["run"] == second


def test_last_is_known_for_runs_of_0_1_0(project: Project) -> None:
    first, second = (asking(project, "a", name=name)["run"] for name in ("one", "two"))
    for path in Path(project.home / "state" / "runs").rglob("created"):
        path.unlink()
    os.utime(next((project.home / "state" / "runs").rglob(f"{first}/1")))
    assert [run["run"] for run in project.json("runs")["runs"]] == [second, first]


def test_an_answer_is_typed_as_field_and_value(project: Project) -> None:
    asking(project, "a")
    said = project.run("answer", "last")
    assert (said.code, "--question q1 who=VALUE`" in said.err) == (4, True)
    assert project.json("answer", "last", "who=Ada = B")["status"] == "completed"
    assert events(project, "last", "Answered")[0]["values"] == {"who": "Ada = B"}


FIELDS = """
{id: sure, type: boolean, label: Sure, required: true}, {id: one, type: single-select, label: One, options: [x, y]},
{id: many, type: multi-select, label: Many, options: [{value: p, label: The P}, q]}
"""


def wide(project: Project) -> None:
    step = f"{{id: a, node: user-input, params: {{formId: wide, title: Wide?, fields: [{FIELDS}]}}}}".replace("\n", " ")
    project.write(".handrail/flows/wide.yaml", f"phases:\n- id: a\n  steps:\n  - {step}\n")
    project.json("run", "wide", code=4)


def test_typed_values_have_the_type_of_their_field(project: Project) -> None:
    wide(project)
    project.json("answer", "last", "sure=no", "one=y", "many=the p,q")
    assert events(project, "last", "Answered")[0]["values"] == {"sure": False, "one": "y", "many": ["p", "q"]}


def test_typed_values_that_do_not_fit_are_all_named_and_leave_nothing(project: Project) -> None:
    wide(project)
    before = files_of(project)
    said = project.run("answer", "last", "sur=yes", "one=z", "many=p,r", "more")
    assert (said.code, files_of(project)) == (2, before)
    for problem in (
        "did you mean `sure`?",
        "`sure` is not answered",
        "`z` is not one",
        "`r` is not one",
        "write FIELD",
    ):
        assert problem in said.err
    assert "`one=z`" in said.err
    assert "`one` is" not in said.err
    for more in (["--file", letter(project), "sure=yes"], ["--approve"], ["--note", "so"], ["sure= "]):
        assert project.run("answer", "last", *more).code == 2


APPROVE = "phases:\n- {id: a, steps: [{id: x, node: approve, params: {question: Ship it?}}]}\n"


@pytest.mark.parametrize(
    ("option", "values", "status", "code"),
    [
        ("--approve", {"approved": True, "reason": "so"}, "completed", 0),
        ("--reject", {"approved": False, "reason": "so"}, "stopped", 1),
    ],
)
def test_an_approval_is_given_or_refused_without_a_file(
    project: Project, option: str, values: dict[str, Any], status: str, code: int
) -> None:
    project.write(".handrail/flows/ship.yaml", APPROVE)
    project.json("run", "ship", code=4)
    asked = project.run("answer", "last").err
    assert "--question q1 --approve`, or `handrail answer r-" in asked
    assert "--question q1 --reject --note TEXT`" in asked
    assert project.json("answer", "last", option, "--note", "so", code=code)["status"] == status
    assert events(project, "last", "Answered")[0]["values"] == values


@pytest.mark.whole
def test_an_interrupted_step_is_decided_with_a_typed_answer(project: Project) -> None:
    step = "{id: x, node: command, params: {argv: [/bin/sh, -c, 'kill -9 $PPID']}}"
    project.write(".handrail/flows/once.yaml", f"phases:\n- id: a\n  steps:\n  - {step}\n")
    project.process("run", "once")
    project.json("resume", "last", code=4)
    assert project.json("answer", "last", "rerun=fail", code=1)["status"] == "failed"
