"""`handrail playbook init` in projects of three languages: with an agent, and without one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentweaver.agent import Mood, content, write_script
from handrail.steps.playbook.draft import wrong_evidence
from handrail.steps.playbook.load import read_playbook
from steps.playbook.repositories import PYTHON, REPOSITORIES, Repository
from support import Project

LANGUAGES = pytest.mark.parametrize("repository", REPOSITORIES.values(), ids=list(REPOSITORIES))
ACCEPTED = {
    "playbook-clarifications": {"q1": "PostgreSQL"},
    "playbook-final-acceptance": {"final_write_accepted": True},
}


def filled(project: Project, repository: Repository) -> Project:
    for name, text in repository.files.items():
        project.write(name, text)
    return project


def with_agent(project: Project, proposed: list[dict[str, Any]], patch: pytest.MonkeyPatch) -> None:
    """Let the scripted agent propose these rules."""

    def said(kind: str, turn: int) -> Any:
        value = content(kind, turn, Mood())
        if kind == "playbook-draft":
            value |= {"summary": "A shop.", "accepted_rules": proposed, "evidence_paths": ["x"]}
        return value

    folder = project.folder.parent / "agent"
    folder.mkdir()
    patch.setenv("HANDRAIL_SCRIPT", str(write_script(folder, project.folder, "playbook", said)))


def practices(project: Project) -> dict[str, str]:
    """The practices of the written playbook, by id."""
    found = read_playbook(str(project.folder))
    assert (found.folder, found.problems) == (".handrail/playbook", ())
    assert found.playbook is not None
    return {entry.id: f"{entry.title}\n{entry.body}" for entry in found.playbook.practices}


def is_told(project: Project, path: str, phase: str = "implement") -> str:
    """What an agent is told for a task on a file."""
    data = project.json("playbook", "guidance", "--phase", phase, "--task", "Add an order", "--files", path)
    assert data["characters"] <= data["budget"]
    return str(data["text"])


@pytest.mark.whole
@LANGUAGES
def test_an_agent_proposes_practices_a_person_accepts_them_and_tasks_get_them(
    project: Project, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(project, repository)
    with_agent(project, repository.proposed, monkeypatch)
    project.write("answers.json", json.dumps(ACCEPTED))
    ended = project.json("playbook", "init", "--agent", "scripted", "--answers", "answers.json")
    assert (ended["name"], ended["status"]) == ("playbook-init", "completed")
    found = practices(project)
    for id_, (command, evidence) in {"tests": repository.test, "linter": repository.lint}.items():
        assert f"`{command}`" in found[id_]
        assert f"Evidence: `{evidence}`" in found[id_]
    assert repository.proposed[2]["rule"] in found["layout"]
    told = is_told(project, repository.file)
    assert all(rule["rule"] in told for rule in repository.proposed)
    assert not any(rule["rule"] in is_told(project, repository.foreign) for rule in repository.proposed)


@LANGUAGES
def test_without_an_agent_the_files_of_the_project_are_enough(project: Project, repository: Repository) -> None:
    filled(project, repository)
    created = project.json("playbook", "init", "--no-agent", "--yes")["created"]
    found = practices(project)
    assert len(created) == len(found) + 2
    whole = "\n".join(found.values())
    for command, evidence in (repository.test, repository.lint):
        assert any(f"`{command}`" in text and f"Evidence: `{evidence}`" in text for text in found.values()), whole
    assert all(folder in found["layout"] for folder in repository.layout)
    told = is_told(project, repository.file)
    assert repository.test[0] in told
    assert repository.lint[0] in told
    assert "Where files are" in told


def test_conventions_and_ci_are_named_and_the_manifest_knows_languages_and_frameworks(project: Project) -> None:
    filled(project, PYTHON)
    project.json("playbook", "init", "--no-agent", "--yes")
    found = practices(project)
    assert "- `AGENTS.md`" in found["conventions"]
    assert "- `.github/workflows/ci.yml`" in found["ci"]
    shown = project.json("playbook", "show")
    assert (shown["languages"], shown["frameworks"]) == (["python"], ["flask", "pytest"])
    assert shown["budgets"]["implement"] == 1400
    assert {row["id"] for row in shown["practices"]} == set(found)


@pytest.mark.whole
def test_a_rule_without_evidence_in_the_project_is_not_written(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(project, PYTHON)
    bad = [{**PYTHON.proposed[0], "evidence_paths": ["pyproject.toml:99"]}]
    with_agent(project, bad, monkeypatch)
    project.write("answers.json", json.dumps(ACCEPTED))
    ended = project.json("playbook", "init", "--agent", "scripted", "--answers", "answers.json", code=1)
    assert "`pyproject.toml:99` of `Tests` does not exist: the file has 9 lines" in ended["error"]
    assert not (project.folder / ".handrail/playbook").exists()


@pytest.mark.whole
def test_a_person_is_asked_and_a_no_writes_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(project, PYTHON)
    assert project.json("playbook", "init", "--no-agent", code=4)["error"]["hint"] == "`--yes` accepts it"
    with_agent(project, PYTHON.proposed, monkeypatch)
    assert project.json("playbook", "init", "--agent", "scripted", code=4)["status"] == "waiting"
    answers = {**ACCEPTED, "playbook-final-acceptance": {"final_write_accepted": False}}
    project.write("answers.json", json.dumps(answers))
    project.json("playbook", "init", "--agent", "scripted", "--answers", "answers.json", code=1)
    assert not (project.folder / ".handrail/playbook").exists()


def test_nothing_is_overwritten(project: Project) -> None:
    filled(project, PYTHON)
    mine = project.write(".handrail/playbook/project.md", "mine")
    said = project.run("playbook", "init", "--no-agent", "--yes")
    assert (said.code, "is there already" in said.err, mine.read_text()) == (1, True, "mine")
    mine.unlink()
    project.json("playbook", "init", "--no-agent", "--yes")
    before = {path: path.read_text() for path in (project.folder / ".handrail/playbook").rglob("*.md")}
    assert project.json("playbook", "init", "--no-agent", "--yes") == {"created": [], "folder": ".handrail/playbook"}
    assert all(path.read_text() == text for path, text in before.items())
    project.write(".handrail/playbook/manifest.yaml", "version: 3\n")
    found = project.json("playbook", "init", "--no-agent", "--yes", code=2)["problems"]
    assert {problem["code"] for problem in found} == {"playbook-version", "missing-key"}


def test_an_agent_has_to_be_named(project: Project) -> None:
    said = project.run("playbook", "init")
    assert (said.code, "--no-agent" in said.err) == (2, True)
    assert project.run("playbook", "init", "--agent", "scripted", "--no-agent").code == 2


def test_an_empty_project_gets_a_valid_playbook(project: Project) -> None:
    project.json("playbook", "init", "--no-agent", "--yes")
    assert practices(project) == {}
    assert "(about the project)" in is_told(project, "a.py")


def test_evidence_through_a_link_out_of_the_project_is_none(project: Project, tmp_path: Path) -> None:
    outside = tmp_path / "secret"
    outside.write_text("x\n")
    (project.folder / "link").symlink_to(outside)
    wrong = wrong_evidence(str(project.folder), [{"title": "T", "evidence_paths": ["link:1"]}])
    assert wrong == ["the evidence `link:1` of `T` leads out of the project"]
