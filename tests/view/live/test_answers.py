"""A question has an id and a digest. One answer counts; a late one is told who answered, where and when."""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import Any

import pytest

from handrail.app import App
from handrail.base.errors import RefusedError
from handrail.driven.engines.embedded.inbox import LOOK
from handrail.view.actions import Actions, LateAnswer
from support import Project

FLOW = """
phases:
- {id: ask, steps: [{id: go, node: approve, params: {question: Release?, otherwise: skip}}]}
- {id: form, steps: [{id: fill, node: user-input, params: {formId: f, title: Why?, outputFile: why.json,
   fields: [{id: why, type: text, label: Why}]}}]}
"""


def needs(project: Project, run: str) -> list[dict[str, Any]]:
    found = json.loads(project.run("view", f"run:{run}").out)["set"].get("needs", [])
    return sorted(found, key=lambda row: row["since"])


def until_waiting(project: Project, run: str, count: int) -> dict[str, Any]:
    """The last of so many questions, once no process drives the run."""
    while len(found := needs(project, run)) < count or project.json("runs", run)["driver"] is not None:
        time.sleep(0.05)
    return found[-1]


def until_asked_again(project: Project, run: str, first: dict[str, Any]) -> dict[str, Any]:
    """The question that replaces the first one."""
    while (found := until_waiting(project, run, 1))["id"] == first["id"]:
        time.sleep(0.05)
    assert found["answered"] is None
    return found


@pytest.mark.whole
def test_one_answer_counts_and_the_others_hear_who_gave_it(project: Project) -> None:
    project.write(".handrail/flows/demo.yaml", FLOW)
    run = project.json("run", "demo", code=4)["run"]
    web, tui = (Actions(App(str(project.folder), os.environ, by="person"), name) for name in ("web", "tui"))
    need = until_waiting(project, run, 1)
    assert (need["of"], need["kind"], need["title"]) == (f"run:{run}", "approval", "Release?")
    assert need["action"]["does"] == "the run goes on after ask › go"
    with pytest.raises(LateAnswer) as changed:
        asyncio.run(tui.answer(run, need["id"], "0" * 16, {"approved": True}))
    assert changed.value.has_changed
    asyncio.run(web.answer(run, need["id"], need["digest"], {"approved": False, "reason": "later"}))
    second = until_waiting(project, run, 2)
    with pytest.raises(LateAnswer) as late:
        asyncio.run(tui.answer(run, need["id"], need["digest"], {"approved": True}))
    assert not late.value.has_changed
    answered = late.value.first_answer
    assert answered is not None
    assert (answered["by"], answered["who"], answered["verdict"]) == ("web", "person", "rejected")
    assert needs(project, run)[0]["answered"] == answered
    assert second["id"] != need["id"]
    assert (second["kind"], second["answered"]) == ("form", None)
    project.write("reply.json", '{"why": "because"}')
    project.json("answer", run, "--file", "reply.json")
    assert [one["answered"]["by"] for one in needs(project, run)] == ["web", "cli"]
    events = [event for _, event in web.app.runs.load(run).records if type(event).__name__ == "Answered"]
    assert len(events) == 2


def test_an_answer_does_not_start_what_somebody_has_stopped_since(project: Project) -> None:
    project.write(".handrail/flows/demo.yaml", FLOW)
    run = project.json("run", "demo", code=4)["run"]
    web = Actions(App(str(project.folder), os.environ, by="person"), "web")
    runs = web.app.runs
    assert asyncio.run(runs.answer(runs.load(run), "q1", {"approved": False, "reason": "later"}, "web"))
    assert project.json("stop", run)["status"] == "cancelled"
    said = project.run("resume", run, "--answered")  # the process that a surface starts after an answer
    assert (said.code, project.json("runs", run)["status"]) == (1, "cancelled")
    assert "it does not wait for an answer" in said.err
    project.json("resume", run, code=4)  # a person may resume it, and then the answer counts
    assert [one["answered"] is not None for one in needs(project, run)] == [True, False]
    before = runs.load(run)
    project.json("stop", run)
    with pytest.raises(RefusedError, match="is cancelled"):
        asyncio.run(runs.answer(before, "q2", {"why": "because"}, "web"))
    project.json("resume", run, code=4)


def test_an_answer_about_what_has_changed_does_not_count_and_the_others_hear_that_it_is_asked_again(
    project: Project,
) -> None:
    files = "{question: Publish?, files: [notes.txt]}"
    project.write(
        ".handrail/flows/demo.yaml", f"phases: [{{id: a, steps: [{{id: b, node: approve, params: {files}}}]}}]"
    )
    project.write("notes.txt", "first")
    run = project.json("run", "demo", code=4)["run"]
    web, tui = (Actions(App(str(project.folder), os.environ, by="person"), name) for name in ("web", "tui"))
    first = until_waiting(project, run, 1)
    project.write("notes.txt", "second")
    for surface in (web, tui):
        with pytest.raises(LateAnswer) as late:
            asyncio.run(surface.answer(run, first["id"], first["digest"], {"approved": True}))
        assert late.value.has_changed
    second = until_asked_again(project, run, first)
    assert second["action"]["state"] != first["action"]["state"]
    with pytest.raises(LateAnswer, match="asked again") as late:
        asyncio.run(tui.answer(run, first["id"], first["digest"], {"approved": True}))
    assert late.value.has_changed


def test_a_form_that_looks_like_an_approval_is_not_one(project: Project) -> None:
    fields = "fields: [{id: approved, type: boolean, label: Sure}]"
    form = f"{{formId: propose, title: Sure?, outputFile: sure.json, {fields}}}"
    project.write(
        ".handrail/flows/demo.yaml", f"phases: [{{id: a, steps: [{{id: b, node: user-input, params: {form}}}]}}]"
    )
    run = project.json("run", "demo", code=4)["run"]
    web = Actions(App(str(project.folder), os.environ, by="person"), "web")
    need = until_waiting(project, run, 1)
    asyncio.run(web.answer(run, need["id"], need["digest"], {"approved": True}))
    while project.json("runs", run)["status"] in ("running", "waiting"):
        time.sleep(0.05)
    assert project.json("runs", run)["status"] == "completed"


TOGETHER = """
phases:
- id: a
  parallel: true
  steps:
  - {id: b, node: approve, params: {question: Publish?, files: [notes.txt]}}
  - {id: c, node: command, params: {argv: [sh, -c, 'until test -e go; do sleep 0.05; done']}}
"""


@pytest.mark.whole
def test_a_process_that_drives_the_run_asks_again_what_has_changed(project: Project) -> None:
    project.write(".handrail/flows/demo.yaml", TOGETHER)
    project.write("notes.txt", "first")
    run = project.json("run", "demo", "--detach")["run"]
    while not (found := needs(project, run)):
        time.sleep(0.05)
    (first,) = found
    project.write("notes.txt", "second")
    web = Actions(App(str(project.folder), os.environ, by="person"), "web")

    async def refused() -> None:
        answering = asyncio.create_task(web.answer(run, first["id"], first["digest"], {"approved": True}))
        attempt = web.app.runs.engine.log(run)
        while not os.path.exists(os.path.join(os.path.dirname(attempt), LOOK)):
            await asyncio.sleep(0.02)
        project.write("go", "")
        with pytest.raises(LateAnswer, match=r"notes\.txt"):
            await answering

    asyncio.run(refused())
    second = until_asked_again(project, run, first)
    asyncio.run(web.answer(run, second["id"], second["digest"], {"approved": True}))
    while project.json("runs", run)["status"] in ("running", "waiting"):
        time.sleep(0.05)
    assert project.json("runs", run)["status"] == "completed"
