"""A phase with `require: hard` is entered only in an agent that was probed, unchanged since, and hard in all rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail import __version__
from handrail.app import App
from handrail.base.errors import RefusedError
from handrail.guided.sessions.phase_requirements import HARD_ROWS, Probe, ProbeRow, read_probe, stamp, write_probe
from handrail.guided.sessions.sessions import Conversation
from handrail.settings.folders import UserFolders
from support import Project

HARD = tuple(ProbeRow(name, "hard", "it was denied") for name in HARD_ROWS)
HOST = Conversation("claude", "c1")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    project = Project(tmp_path, monkeypatch, capsys)
    project.phase("w", "build", more="require: hard\n")
    project.workflow("w", ["look", "build"])
    return project


@pytest.fixture
def program(project: Project) -> Path:
    path = project.folder.parent / "claude"
    path.write_text("the program\n")
    return path


def keep(project: Project, program: Path, *rows: ProbeRow, handrail: str = __version__) -> None:
    path = str(program)
    write_probe(UserFolders(app(project).env), Probe("claude", "2.1.9", path, stamp(path), handrail, 1.0, rows))


def app(project: Project) -> App:
    home = {"HOME": str(project.folder.parent / "user"), "HANDRAIL_HOME": str(project.home)}
    return App(str(project.folder), home, by="person")


def start(project: Project) -> str:
    """The id of the new session. Raises `RefusedError` if the workflow may not start."""
    return app(project).start("w", "tea", conversation=HOST).session


def refused(project: Project) -> tuple[str, str]:
    with pytest.raises(RefusedError) as found:
        start(project)
    assert found.value.hint is not None
    return found.value.message, found.value.hint


def test_a_workflow_starts_if_all_rows_are_hard(project: Project, program: Path) -> None:
    keep(project, program, *HARD)
    assert start(project) == "claude-c1"


def test_without_a_probe_it_does_not_start(project: Project) -> None:
    message, hint = refused(project)
    assert message.endswith("but claude was not probed on this machine")
    assert hint == "run `handrail doctor claude --probe` in a terminal"
    assert not app(project).sessions.all()


@pytest.mark.parametrize("level", ["partial", "none", "unknown"])
@pytest.mark.parametrize("at", range(len(HARD_ROWS)))
def test_each_row_that_matters_has_to_be_hard(project: Project, program: Path, at: int, level: str) -> None:
    rows = [*HARD]
    rows[at] = rows[at]._replace(level=level)
    keep(project, program, *rows)
    assert refused(project)[0].endswith(f"the probe of claude 2.1.9 says `{level}` for `{HARD_ROWS[at]}`")


def test_what_the_agent_does_not_have_need_not_be_hard(project: Project, program: Path) -> None:
    keep(project, program, *(row._replace(level="unknown", is_absent=row.row == "mcp") for row in HARD[3:4]), *HARD[:3])
    assert "`nothing` for `shell`" in refused(project)[0]
    keep(project, program, *HARD[:3], HARD[3]._replace(level="unknown", is_absent=True), *HARD[4:])
    assert start(project)


def test_a_row_that_was_not_measured_counts_as_nothing(project: Project, program: Path) -> None:
    keep(project, program, *HARD[1:])
    assert "`nothing` for `main agent`" in refused(project)[0]


def test_other_rows_may_be_anything(project: Project, program: Path) -> None:
    keep(project, program, *HARD, ProbeRow("stop", "partial", "it has a cap"))
    assert start(project)


def test_a_program_that_changed_has_to_be_probed_again(project: Project, program: Path) -> None:
    keep(project, program, *HARD)
    program.unlink()
    program.write_text("another one\n")
    assert "claude was changed since its last probe, which measured version 2.1.9" in refused(project)[0]


def test_a_link_to_another_version_has_to_be_probed_again(project: Project, program: Path) -> None:
    link = program.with_name("link")
    link.symlink_to(program)
    keep(project, link, *HARD)
    other = program.with_name("other")
    other.write_text("the program\n")
    link.unlink()
    link.symlink_to(other)
    assert "claude was changed" in refused(project)[0]


def test_a_probe_with_another_handrail_does_not_count(project: Project, program: Path) -> None:
    keep(project, program, *HARD, handrail="0.0.1")
    assert "was made with Handrail 0.0.1" in refused(project)[0]


def test_a_damaged_result_is_no_result(project: Project, program: Path) -> None:
    keep(project, program, *HARD)
    (project.home / "state" / "probes" / "claude.json").write_text('{"agent": 1')
    assert read_probe(UserFolders(app(project).env), "claude") is None
    assert "was not probed" in refused(project)[0]


def test_in_a_terminal_no_agent_is_known(project: Project) -> None:
    said = project.run("start", "w", "tea")
    assert said.code == 1
    assert "no agent is known for this session" in said.err
    assert "handrail run NAME TASK --agent AGENT" in said.err


def test_a_run_is_refused_too(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    said = project.run("run", "w", "tea", "--agent", "scripted")
    assert said.code == 1
    assert "scripted was not probed on this machine" in said.err + said.out


def test_next_does_not_enter_the_phase_if_the_agent_changed_meanwhile(project: Project, program: Path) -> None:
    keep(project, program, *HARD)
    session = start(project)
    sessions = app(project).sessions
    program.write_text("an update\n")
    report = sessions.leave(sessions.leaving(session), "done", ())
    assert report.refusal is not None
    assert report.refusal.code == "not-enforced"
    assert report.refusal.reason.startswith("The phase `Build` requires that its rules are enforced")
    assert "Tell the person: run `handrail doctor claude --probe` in a terminal." in report.refusal.reason
    assert sessions.status(session).state.at == 0
    keep(project, program, *HARD)
    assert sessions.leave(sessions.leaving(session), "done", ()).state.at == 1


def test_loop_does_not_enter_the_phase_either(project: Project, program: Path) -> None:
    project.workflow("w", ["build", "look"])
    keep(project, program, *HARD)
    session = start(project)
    sessions = app(project).sessions
    program.write_text("an update\n")
    assert sessions.leave(sessions.leaving(session), "done", ()).state.at == 1
    report = sessions.loop(session)
    assert report.refusal is not None
    assert (report.refusal.code, report.state.at) == ("not-enforced", 1)


def test_a_workflow_without_such_a_phase_needs_no_probe(project: Project) -> None:
    project.workflow("v", ["look"])
    assert app(project).start("v", "tea", conversation=HOST).session


def test_another_value_is_a_located_problem(project: Project) -> None:
    project.phase("w", "build", more="require: hrad\n")
    problem = project.json("validate", code=2)["problems"][0]
    assert (problem["code"], problem["line"], problem["column"]) == ("bad-value", 5, 10)
    assert "`hard`" in problem["message"] + problem["hint"]
