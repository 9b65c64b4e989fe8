"""`CODEX_BIN`, `OPENCODE_BIN` and the like choose the program of an agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.extensions.registry import Registry
from handrail.settings.environment import NoSuchProgram, chosen_program
from support import Project

FLOW = "phases: [{id: a, steps: [{id: x, node: llm-prompt, prompt: Hello.}]}]\n"


@pytest.fixture
def talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    project = Project(tmp_path, monkeypatch, capsys)
    project.write(".handrail/flows/talk.yaml", FLOW)
    return project


def program(folder: Path, name: str) -> Path:
    """A program that leaves a file beside itself and prints a version."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text('#!/bin/sh\necho 9.8.7\necho "$0" > "$0.started"\n', encoding="utf-8")
    path.chmod(0o755)
    return path


def user_file(project: Project, text: str) -> None:
    path = project.folder.parent / "user" / ".agentweaver" / ".env"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("agent", Registry().installable())
def test_the_variable_chooses_the_program_of_a_step(
    talk: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    own = program(tmp_path / "mine", "my-agent")
    program(tmp_path / "path", agent)
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    monkeypatch.setenv(f"{agent.upper()}_BIN", str(own))
    assert talk.run("run", "talk", "--agent", agent).code == 1  # it says nothing that an agent says
    assert (tmp_path / "mine" / "my-agent.started").exists()
    assert not (tmp_path / "path" / f"{agent}.started").exists()


def test_the_file_of_the_user_may_set_it_and_the_doctor_shows_it(talk: Project, tmp_path: Path) -> None:
    own = program(tmp_path / "mine", "my-codex")
    user_file(talk, f"CODEX_BIN={own}\n")
    checks = {check["id"]: check for check in talk.run("doctor", "--json").data["checks"]}
    assert checks["codex.program"]["message"] == f"9.8.7 at {own}, chosen by `CODEX_BIN`"
    assert talk.run("run", "talk", "--agent", "codex").code == 1
    assert (tmp_path / "mine" / "my-codex.started").exists()


def test_the_file_of_a_project_may_not_set_it(talk: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = program(tmp_path / "mine", "my-codex")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    talk.write(".agentweaver/.env", f"CODEX_BIN={own}\n")
    said = talk.run("run", "talk", "--agent", "codex")
    assert "CODEX_BIN is not used; only the user may choose the program of an agent" in said.err
    assert not (tmp_path / "mine" / "my-codex.started").exists()


def test_a_variable_that_names_no_program_is_an_error(
    talk: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCODE_BIN", str(tmp_path / "nowhere"))
    ended = talk.json("run", "talk", "--agent", "opencode", code=1)
    named = f"`OPENCODE_BIN` names `{tmp_path / 'nowhere'}`, which is not a program that can be started"
    assert ended["error"]["message"] == f"step `a/x` of `talk` needs an agent, and {named}"
    checks = {check["id"]: check for check in talk.json("doctor", code=5)["checks"]}
    assert checks["opencode.program"]["status"] == "error"
    assert checks["opencode.program"]["fix"] == "correct or unset `OPENCODE_BIN`"


def test_a_relative_path_is_refused_and_a_name_is_looked_up(tmp_path: Path) -> None:
    own = program(tmp_path / "mine", "other")
    assert chosen_program("codex", {"CODEX_BIN": "other", "PATH": str(tmp_path / "mine")}) == str(own)
    assert chosen_program("codex", {"PATH": str(tmp_path / "mine"), "CODEX_BIN": ""}) is None
    assert chosen_program("/bin/sh", {"/BIN/SH_BIN": "/bin/true"}) is None
    with pytest.raises(NoSuchProgram, match="has to be an absolute path"):
        chosen_program("codex", {"CODEX_BIN": "mine/other", "PATH": str(tmp_path)})
