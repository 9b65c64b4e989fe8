"""A question has an id and a digest. One answer counts; a late one is told who answered, where and when."""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import Any

import pytest

from handrail.app import App
from handrail.errors import RefusedError
from handrail.live.actions import Actions, Late
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


def test_one_answer_counts_and_the_others_hear_who_gave_it(project: Project) -> None:
    project.write(".handrail/flows/demo.yaml", FLOW)
    run = project.json("run", "demo", code=4)["run"]
    web, tui = (Actions(App(str(project.folder), os.environ, by="person"), name) for name in ("web", "tui"))
    need = until_waiting(project, run, 1)
    assert (need["of"], need["kind"], need["title"]) == (f"run:{run}", "approval", "Release?")
    assert need["action"]["does"] == "the run goes on after ask › go"
    with pytest.raises(Late) as changed:
        asyncio.run(tui.answer(run, need["id"], "0" * 16, {"approved": True}))
    assert changed.value.has_changed
    asyncio.run(web.answer(run, need["id"], need["digest"], {"approved": False, "reason": "later"}))
    second = until_waiting(project, run, 2)
    with pytest.raises(Late) as late:
        asyncio.run(tui.answer(run, need["id"], need["digest"], {"approved": True}))
    assert not late.value.has_changed
    answered = late.value.answered
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
    asyncio.run(web.answer(run, first["id"], first["digest"], {"approved": True}))
    second = until_waiting(project, run, 2)
    assert second["answered"] is None
    with pytest.raises(Late) as late:
        asyncio.run(tui.answer(run, first["id"], first["digest"], {"approved": True}))
    assert late.value.has_changed
