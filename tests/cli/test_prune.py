"""`handrail prune` removes what ended long ago, never what is active or waits, and shows first what it would do."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from handrail.app import App
from handrail.base import locks
from handrail.base.errors import NotFound
from handrail.driven.runs.request import LoadedRun
from handrail.driven.runs.runs import Runs
from support import Project

DAY = 86_400
FORM = "node: user-input, params: {formId: f, title: Who, fields: [{id: who, type: text, label: Who}]}"


@pytest.fixture
def busy(project: Project) -> Project:
    project.workflow("w", ["look"])
    project.write(".handrail/flows/ok.yaml", "phases:\n- {id: a, steps: [{id: x, node: set, params: {n: 1}}]}\n")
    project.write(".handrail/flows/ask.yaml", f"phases:\n- {{id: a, steps: [{{id: x, {FORM}}}]}}\n")
    project.write(
        ".handrail/flows/bad.yaml",
        "phases:\n- {id: a, steps: [{id: x, node: command, params: {argv: ['false']}}]}\n",
    )
    return project


def run(project: Project, flow: str, code: int = 0) -> str:
    return str(project.json("run", flow, code=code)["run"])


def ids(project: Project) -> set[str]:
    runs = {str(row["run"]) for row in project.json("runs")["runs"]}
    return runs | {str(row["session"]) for row in project.json("sessions")["sessions"]}


def removed(project: Project, *argv: str) -> set[str]:
    return {str(row["id"]) for row in project.json("prune", *argv)["removed"]}


def test_nothing_is_removed_without_yes(busy: Project) -> None:
    id_ = run(busy, "ok")
    data = busy.json("prune", "--keep", "0")
    assert (data["dryRun"], [row["id"] for row in data["removed"]], data["kept"]) == (True, [id_], 0)
    assert ids(busy) == {id_}
    assert "add `--yes` to do it" in busy.run("prune", "--keep", "0").out


def test_what_is_active_or_waits_is_never_removed(busy: Project) -> None:
    waits = run(busy, "ask", code=4)
    busy.json("start", "w", "x", "--session", "active")
    busy.json("start", "w", "x", "--session", "ended")
    busy.json("next", "--session", "ended")
    done = run(busy, "ok")
    assert removed(busy, "--keep", "0", "--yes") == {done, "ended"}
    assert ids(busy) == {waits, "active"}


def test_a_run_that_is_driven_now_is_never_removed(busy: Project) -> None:
    done = run(busy, "ok")
    with (folder(busy, done) / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert removed(busy, "--keep", "0", "--yes") == set()
    assert removed(busy, "--keep", "0", "--yes") == {done}


def folder(project: Project, id_: str) -> Path:
    return next((project.home / "state").rglob(id_))


def test_the_newest_are_kept(busy: Project) -> None:
    found = [run(busy, "ok") for _ in range(4)]
    assert removed(busy, "--keep", "1", "--yes") == set(found[:3])
    assert busy.json("prune", "--keep", "1")["kept"] == 1


def test_only_what_has_the_status_is_removed(busy: Project) -> None:
    run(busy, "ok")
    failed = run(busy, "bad", code=1)
    assert removed(busy, "--status", "failed", "--yes") == {failed}
    said = busy.run("prune", "--status", "waiting")
    assert said.code == 2


def test_an_interrupted_run_is_removed_only_by_its_name(busy: Project) -> None:
    cut = run(busy, "ok")
    journal = folder(busy, cut) / "1" / "journal"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    (folder(busy, cut) / "summary").unlink()  # a killed driver writes none
    assert removed(busy, "--keep", "0") == set()
    assert f"no process drives this run; `handrail resume {cut}` resumes it\n" in busy.run("runs", cut).err
    assert removed(busy, "--status", "interrupted") == {cut}


def test_only_what_ended_long_ago_is_removed(busy: Project) -> None:
    run(busy, "ok")
    busy.json("start", "w", "x", "--session", "old")
    busy.json("next", "--session", "old")
    at = time.time() - 40 * DAY
    os.utime(folder(busy, "old") / "journal", (at, at))
    assert removed(busy) == removed(busy, "--older-than", "30d") == {"old"}
    assert removed(busy, "--older-than", "50d") == set()
    assert len(removed(busy, "--older-than", "0s")) == 2
    said = busy.run("prune", "--older-than", "soon")
    assert (said.code, "such as `30d`" in said.err) == (2, True)


@pytest.mark.whole
def test_a_failed_run_takes_its_session_with_it(busy: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    busy.write("script.yaml", "- say: no\n")
    id_ = str(busy.json("run", "w", "tea", "--agent", "scripted", code=1)["run"])
    (session,) = [str(row["session"]) for row in busy.json("sessions")["sessions"]]
    assert f"■ left (run {id_} failed)" in busy.run("sessions").out
    assert "no active sessions in this project" in busy.run("sessions", "--active").out
    assert [row["status"] for row in busy.json("prune", "--keep", "0")["removed"]] == ["failed", "left"]
    assert removed(busy, "--keep", "0", "--yes") == {id_, session}
    assert ids(busy) == set()


def test_every_prune_counts_the_sessions_that_are_kept(busy: Project) -> None:
    run(busy, "ok")
    busy.json("start", "w", "x", "--session", "active")
    kept = [busy.json("prune", *rule)["kept"] for rule in ((), ("--damaged",), ("--keep", "9"))]
    assert kept == [2, 2, 2]


def test_the_settings_of_the_user_prune_at_the_start_of_a_run(busy: Project) -> None:
    first, second = run(busy, "ok"), run(busy, "ok")
    config = busy.home / "config"
    config.mkdir(parents=True)
    (config / "settings.yaml").write_text("prune: {keep: 1}\n")
    third = run(busy, "ok")
    assert ids(busy) == {second, third}
    assert first not in ids(busy)


def test_the_settings_of_a_project_cannot_prune(busy: Project) -> None:
    first, second = run(busy, "ok"), run(busy, "ok")
    busy.write(".handrail/settings.yaml", "prune: {keep: 0}\n")
    assert "`prune` can be set only in the user's settings" in busy.json("run", "ok", code=2)["error"]["message"]
    assert ids(busy) == {first, second}
    said = busy.run("validate")
    assert (said.code, "only in the user's settings" in said.out + said.err) == (2, True)


@pytest.mark.parametrize("text", ["{olderThan: 3}", "{keep: -1}", "{keep: many}", "{}", "{kept: 1}"])
def test_a_wrong_setting_is_a_problem_with_its_place(busy: Project, text: str) -> None:
    config = busy.home / "config"
    config.mkdir(parents=True)
    (config / "settings.yaml").write_text(f"prune: {text}\n")
    problems = busy.json("validate", code=2)["problems"]
    assert (problems[0]["line"], problems[0]["code"]) == (1, "bad-value")


def test_the_history_of_artifacts_is_kept(busy: Project) -> None:
    busy.write(
        ".handrail/flows/make.yaml",
        "phases:\n- id: a\n  steps:\n  - {id: x, node: write-file, params: {path: a.md, text: hi}, makes: [a.md]}\n",
    )
    first = busy.json("run", "make", "--scope", "k")
    assert removed(busy, "--keep", "0", "--yes") == {first["run"]}
    again = busy.json("run", "make", "--scope", "k")
    assert [row["id"] for row in again["artifacts"]] == ["k:a.md:v2"]


ACTIONS: dict[str, Callable[[Runs, LoadedRun], Awaitable[object]]] = {
    "resume": lambda runs, run: runs.drive(run),
    "answer": lambda runs, run: runs.answer(run, "q1", {"who": "Ada"}),
    "stop": lambda runs, run: runs.stop(run),
    "notice": lambda runs, run: runs.engine.notice(run.id, "hello"),
}


@pytest.mark.parametrize("action", ACTIONS)
def test_a_run_that_is_removed_meanwhile_is_not_found_and_leaves_no_folder(busy: Project, action: str) -> None:
    runs = App(str(busy.folder), os.environ, by="person").runs
    run_ = runs.load(run(busy, "ask", code=4))
    home = folder(busy, run_.id)
    assert runs.engine.remove(run_.id, aside=False)
    with pytest.raises(NotFound, match="there is no run"):
        asyncio.run(_awaited(ACTIONS[action](runs, run_)))
    assert not home.exists()
    assert not runs.engine.remove(run_.id, aside=False)


async def _awaited(work: Awaitable[object]) -> object:
    return await work


def test_a_run_that_is_removed_while_a_driver_waits_for_its_lock_is_not_found(busy: Project) -> None:
    runs = App(str(busy.folder), os.environ, by="person").runs
    run_ = runs.load(run(busy, "ask", code=4))
    home = folder(busy, run_.id)
    held = locks.acquire(str(home / "lock"))
    assert held is not None

    async def remove() -> None:
        shutil.rmtree(home)
        os.close(held)  # the driver waits for it

    async def both() -> None:
        await asyncio.gather(runs.drive(run_), remove())

    with pytest.raises(NotFound, match="there is no run"):
        asyncio.run(both())
    assert not home.exists()
