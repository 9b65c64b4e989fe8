"""A project that nobody has trusted runs nothing: who may trust it, how it is asked for, and what is refused."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from agents.calls.talking import tell
from handrail.agents.calls.servers import McpServer
from handrail.app import App
from handrail.base.errors import UntrustedError
from handrail.driven.runs.request import RunRequest
from handrail.driven.runs.run_rules import mark_locked
from handrail.extensions.callers import OPEN
from handrail.extensions.registry import Registry
from handrail.guided.sessions.sessions import Conversation
from settings.trust.clones import FLOWS, by_a_person, distrust, fired, is_trusted, trust
from support import Project, Said, is_running

WAIT = 60
VARIABLE = next(variables[0] for variables, _ in Registry().signs().values() if variables)
STARTS = [
    ("start", "evil", "x"),
    ("run", "wired"),
    ("wired",),
    ("run", "wired", "--detach"),
    ("run", "nested"),
    ("run", "expects"),
    ("run", "writes"),
    ("run", "evil", "x", "--agent", "scripted"),
    ("run", "check-loop", "--param", "check=touch wire"),
]


@pytest.mark.parametrize("argv", STARTS, ids=" ".join)
def test_without_a_terminal_it_is_refused_with_one_sentence(cloned: Project, argv: tuple[str, ...]) -> None:
    said = cloned.run(*argv)
    assert said.code == 4, said
    assert f"error: `{cloned.folder}` is not trusted, so nothing was run: " in said.err
    assert f"hint: a person runs `handrail trust {cloned.folder}`" in said.err
    assert "HANDRAIL_TRUST=1" in said.err
    assert not fired(cloned)
    assert cloned.json("sessions") == {"sessions": []}
    assert cloned.json("runs")["runs"] == []


def test_the_refusal_says_what_would_be_run_and_where_that_is_written(cloned: Project) -> None:
    assert "evil/a runs `touch wire` (.handrail/workflows/evil/a.md:6)" in cloned.run("start", "evil", "x").err
    assert "wired/x runs `touch wire` (.handrail/flows/wired.yaml:4)" in cloned.run("run", "nested").err
    error = cloned.run("run", "wired", "--json").data["error"]
    assert error["code"] == "untrusted"


def test_what_starts_nothing_needs_no_trust(cloned: Project) -> None:
    assert cloned.json("run", "still")["status"] == "completed"
    cloned.json("start", "quiet", "x")
    assert cloned.run("next").code == 5
    cloned.write("wanted", "x")
    assert cloned.run("next").code == 0


@pytest.mark.parametrize("word", [("--trust",), ()], ids=["option", "variable"])
def test_the_word_for_one_call_holds_for_that_call_only(
    cloned: Project, monkeypatch: pytest.MonkeyPatch, word: tuple[str, ...]
) -> None:
    with monkeypatch.context() as patch:
        if not word:
            patch.setenv("HANDRAIL_TRUST", "1")
        assert cloned.json("run", "wired", *word)["status"] == "completed"
        cloned.json("start", "evil", "x", *word)
    assert fired(cloned)
    (cloned.folder / "wire").unlink()
    assert not is_trusted(cloned)
    assert cloned.run("run", "wired").code == 4
    assert cloned.run("next").code == 4
    assert not fired(cloned)
    assert cloned.run("next", "--trust").code == 5
    assert fired(cloned)


@pytest.mark.parametrize("value", ["0", "", "yes", "true"])
def test_the_variable_has_to_be_1(cloned: Project, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("HANDRAIL_TRUST", value)
    assert cloned.run("run", "wired").code == 4


@pytest.mark.whole
def test_the_variable_is_not_passed_on(cloned: Project) -> None:
    argv = "[sh, -c, 'echo \"word: $HANDRAIL_TRUST.\"']"
    text = f"phases:\n- id: a\n  steps:\n  - {{id: x, node: command, params: {{argv: {argv}}}}}\n"
    cloned.write(".handrail/flows/env.yaml", text)
    said = cloned.process("run", "env", "--json", HANDRAIL_TRUST="1")
    assert said.data["status"] == "completed"
    assert "word: ." in json.dumps(said.data)
    cloned.phase("evil", "a", 'exit:\n  - run: test -z "$HANDRAIL_TRUST"\n')
    cloned.run("start", "evil", "x", "--trust")
    assert cloned.process("next", HANDRAIL_TRUST="1").code == 0


@pytest.mark.whole
def test_a_driver_in_the_background_is_trusted_with_its_call(cloned: Project) -> None:
    wait_for_driver(cloned.run("run", "wired", "--detach", "--trust"))
    assert cloned.json("runs")["runs"][0]["status"] == "completed"
    assert fired(cloned)
    assert marks(cloned) == []


def wait_for_driver(said: Said) -> None:
    """Wait until the process that drives a run in the background has ended."""
    found = re.search(r"process (\d+) drives it", said.err)
    assert found is not None, said
    until = time.monotonic() + WAIT
    while is_running(int(found[1])):
        assert time.monotonic() < until
        time.sleep(0.05)


def marks(project: Project) -> list[Path]:
    """The marks of runs that are trusted while they are driven."""
    return [path for path in (project.home / "state" / "trust" / "runs").rglob("*") if path.is_file()]


@pytest.mark.whole
@pytest.mark.parametrize("more", [(), ("--detach",)], ids=["here", "detached"])
def test_the_checks_of_the_agent_of_a_run_are_trusted_with_its_call(
    cloned: Project, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    script = "prompts:\n- match: begin\n  play:\n  - {step: next, summary: done}\n  - {step: next, summary: done}\n"
    cloned.write("script.yaml", script)
    cloned.write("wanted", "x")
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    said = cloned.run("run", "evil", "x", "--agent", "scripted", "--trust", *more)
    if more:
        wait_for_driver(said)
    assert cloned.json("runs")["runs"][0]["status"] == "completed"
    assert fired(cloned)
    assert marks(cloned) == []


def test_the_mark_of_a_driver_that_was_killed_trusts_nothing(cloned: Project) -> None:
    app = App(str(cloned.folder), os.environ)
    app.trust.word = lambda: True
    app.trust.mark("r-1")
    with mark_locked(app.trust, "r-1"):
        assert app.trust.holds("r-1")
        assert App(str(cloned.folder), os.environ).trust.holds("r-1")
    assert marks(cloned)
    assert not App(str(cloned.folder), os.environ).trust.holds("r-1")


def test_a_first_drive_after_a_killed_one_needs_trust_again(cloned: Project) -> None:
    said = cloned.run("run", "asks", "--trust", "--json")
    run = said.data["run"]
    app = App(str(cloned.folder), os.environ)
    app.trust.word = lambda: True
    app.trust.mark(run)
    assert "is not trusted" in cloned.run("resume", run, "--first").err
    assert not fired(cloned)


def test_a_waiting_run_needs_trust_again_to_go_on(cloned: Project) -> None:
    run = cloned.json("run", "asks", "--trust", code=4)["run"]
    cloned.write("yes.yaml", "approved: true\n")
    for argv in (("resume", run), ("restart", run), ("answer", run, "--file", "yes.yaml")):
        assert "is not trusted" in cloned.run(*argv).err, argv
    assert not fired(cloned)
    assert cloned.json("runs")["runs"][0]["status"] == "waiting"
    assert cloned.run("answer", run, "--file", "yes.yaml", "--trust").code == 0
    assert fired(cloned)


def test_a_project_that_is_distrusted_meanwhile_runs_no_check_and_stays_in_its_phase(cloned: Project) -> None:
    trust(cloned)
    app = App(str(cloned.folder), os.environ)
    app.start("evil", "x", conversation=Conversation("claude", "C"))
    distrust(cloned)
    cloned.write("wanted", "x")
    told = step(cloned)
    assert f"`touch wire` was not run, because nobody has trusted `{cloned.folder}`" in told
    assert f"handrail trust {cloned.folder}" in told
    assert app.sessions.status("claude-C").state.at == 0
    assert not fired(cloned)
    trust(cloned)
    step(cloned)
    assert app.sessions.status("claude-C").state.at == 1


def test_a_run_is_not_driven_whoever_asks_for_it(cloned: Project) -> None:
    app = App(str(cloned.folder), os.environ)
    run = app.runs.begin(app.flows, app.flows.find("nested"), RunRequest(params={}, scope="s"), "r-1")
    for mode in ("run", "resume"):
        with pytest.raises(UntrustedError, match="wired/x runs `touch wire`"):
            asyncio.run(app.runs.drive(run, mode))
    with pytest.raises(UntrustedError):
        app.start("evil", "x")
    assert not fired(cloned)


def step(project: Project) -> str:
    said: list[dict[str, Any]] = []
    server = McpServer("claude", Registry(), {**os.environ, "HANDRAIL_TRUST": "1"}, said.append)
    call = {"name": "workflow_step", "arguments": {"action": "next", "session_id": "C"}}
    server.take(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}))
    server.threads[-1].join()
    text: str = said[-1]["result"]["content"][0]["text"]
    return text


@pytest.mark.whole
def test_a_workflow_that_is_typed_in_an_agent_is_held(cloned: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAIL_TRUST", "1")
    event = {"session_id": "C", "cwd": str(cloned.folder), "hook_event_name": "UserPromptExpansion"}
    typed = {**event, "command_name": "workflow", "command_args": "evil make tea"}
    said = json.dumps(tell("claude", typed))
    assert "is not trusted" in said
    assert f"run `handrail trust {cloned.folder}` in a terminal, and type it again" in said
    assert cloned.json("sessions") == {"sessions": []}
    trust(cloned)
    assert "Do a." in json.dumps(tell("claude", typed))


def test_list_marks_what_of_the_user_would_not_run_in_a_folder_that_nobody_trusts(cloned: Project) -> None:
    flows = cloned.home / "config" / "flows"
    flows.mkdir(parents=True)
    (flows / "mine.yaml").write_text("phases: [{id: a, steps: [{id: x, run: echo hi}]}]\n", encoding="utf-8")
    assert cloned.run("run", "mine").code == 4
    (row,) = [line for line in cloned.run("list").out.splitlines() if line.startswith("mine ")]
    assert row.endswith("(not trusted)")
    trust(cloned)
    assert "(not trusted)" not in cloned.run("list").out


def test_list_show_and_validate_mark_what_would_be_run_and_refuse_nothing(cloned: Project) -> None:
    rows = cloned.run("list")
    assert [line for line in rows.out.splitlines() if "(not trusted)" in line and "evil" in line]
    assert not [line for line in rows.out.splitlines() if "(not trusted)" in line and "quiet" in line]
    assert "`handrail trust --show`" in rows.err
    data = cloned.json("list")
    assert data["trusted"] is False
    evil = next(row for row in data["workflows"] if row["key"] == "evil")
    place = {"file": ".handrail/workflows/evil/a.md", "line": 6}
    assert evil["runs"] == [{"kind": "program", "what": "touch wire", "by": "evil/a", **place}]
    shown = cloned.run("show", "wired")
    assert shown.code == 0
    assert "wired/x runs `touch wire` (.handrail/flows/wired.yaml:4)" in shown.err
    assert cloned.json("show", "evil")["runs"] == evil["runs"]
    assert "nobody has trusted this project" in cloned.run("validate").err
    assert cloned.json("validate")["trusted"] is False
    trust(cloned)
    assert "trusted" not in cloned.run("list").out + cloned.run("show", "wired").err + cloned.run("validate").err


def test_doctor_says_whether_the_project_is_trusted(cloned: Project) -> None:
    def found() -> dict[str, Any]:
        checks = cloned.run("doctor", "--json").data["checks"]  # its exit code depends on the agents of this machine
        return next(one for one in checks if one["id"] == "trust")

    assert found()["status"] == "warning"
    assert found()["fix"] == "look at `handrail trust --show`, then run `handrail trust`"
    trust(cloned)
    assert found()["status"] == "ok"


def test_trust_and_distrust(cloned: Project) -> None:
    data = cloned.json("trust", "--show")
    assert (data["project"], data["trusted"], data["record"]) == (str(cloned.folder), False, None)
    assert {one["by"] for one in data["runs"]} == {"evil/a", "wired/x", "expects/x", "writes/x", "asks/x"}
    assert not is_trusted(cloned)
    assert cloned.run("trust").out == f"trusted: {cloned.folder}\n"
    assert cloned.json("run", "wired")["status"] == "completed"
    assert cloned.json("trust", "--show")["record"]["path"] == str(cloned.folder)
    assert cloned.json("distrust") == {"project": str(cloned.folder), "revoked": True, "trusted": False, "record": None}
    assert cloned.run("distrust").out == f"was not trusted: {cloned.folder}\n"
    assert cloned.run("run", "wired").code == 4


def test_trust_below_a_folder_holds_for_the_projects_in_it(cloned: Project) -> None:
    above_ = cloned.folder.parent
    assert cloned.run("trust", str(above_), "--below").code == 0
    assert cloned.json("run", "wired")["status"] == "completed"
    said = cloned.run("distrust")
    assert f"it is still trusted, because every project below `{above_}` is" in said.err
    assert cloned.json("distrust", str(above_))["revoked"] is True
    assert cloned.run("run", "wired").code == 4


def test_a_folder_that_is_gone_can_be_distrusted(cloned: Project, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    (gone / ".handrail").mkdir()
    cloned.run("trust", str(gone))
    (gone / ".handrail").rmdir()
    gone.rmdir()
    assert cloned.json("distrust", str(gone))["revoked"] is True
    assert cloned.run("trust", str(gone)).code == 2


@pytest.mark.whole
@by_a_person
def test_an_agent_cannot_give_trust_in_any_way(cloned: Project) -> None:
    (cloned.home / "state" / OPEN).unlink()
    for argv in (("trust",), ("run", "wired", "--trust"), ("start", "evil", "x", "--trust")):
        said = cloned.process(*argv, **{VARIABLE: "1"})
        assert said.code == 1, argv
        assert "only a person may run `handrail" in said.err
    assert cloned.process("run", "wired", **{VARIABLE: "1", "HANDRAIL_TRUST": "1"}).code == 4
    assert cloned.process("trust", "--show", **{VARIABLE: "1"}).code == 0
    assert not is_trusted(cloned)
    assert not fired(cloned)
    trust(cloned)
    assert cloned.process("distrust", **{VARIABLE: "1"}).code == 0
    assert not is_trusted(cloned)


@pytest.mark.whole
@by_a_person
def test_an_agent_does_not_trust_a_project_with_init(cloned: Project, tmp_path: Path) -> None:
    (cloned.home / "state" / OPEN).unlink()
    empty = tmp_path / "empty"
    empty.mkdir()
    assert cloned.process("--project", str(empty), "init", "--json", **{VARIABLE: "1"}).data["trusted"] is False
    assert (empty / ".handrail").exists()


def test_init_trusts_a_project_only_if_it_brought_nothing_along(cloned: Project, tmp_path: Path) -> None:
    assert cloned.json("init")["trusted"] is False
    for name, brought in {"fresh": None, "pi": ".pi/workflows/w", "weaver": ".agentweaver/.flows"}.items():
        folder = tmp_path / name
        folder.mkdir()
        if brought is not None:
            (folder / brought).mkdir(parents=True)
        assert cloned.json("--project", str(folder), "init")["trusted"] is (brought is None), name


def test_files_of_a_project_do_not_widen_trust(cloned: Project) -> None:
    cloned.write(".agentweaver/.env", "HANDRAIL_TRUST=1\n")
    assert cloned.run("run", "wired").code == 4
    cloned.write(".handrail/settings.yaml", "trust: true\n")
    assert "there is no key `trust`" in cloned.run("run", "wired").err or not fired(cloned)
    assert not fired(cloned)


def test_a_folder_in_a_trusted_project_is_not_trusted_with_it(cloned: Project) -> None:
    trust(cloned)
    inner = cloned.folder / "vendor" / "clone"
    (inner / ".handrail" / "flows").mkdir(parents=True)
    (inner / ".handrail" / "flows" / "wired.yaml").write_text(FLOWS["wired"])
    assert cloned.run("--project", str(inner), "run", "wired").code == 4
