"""The environment files of AgentWeaver: who wins, and what a repository may not set."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.settings.environment import ENV_FILE, read_env_file, with_env_files


def put(folder: Path, text: str) -> None:
    (folder / ENV_FILE).parent.mkdir(parents=True, exist_ok=True)
    (folder / ENV_FILE).write_text(text)


@pytest.fixture
def homes(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    return tmp_path / "home", tmp_path / "project"


def test_lines_of_a_file(tmp_path: Path) -> None:
    put(tmp_path, "# no\n\nA=1\n export B = 'two words' \nC=\"x\nD\n=e\nF=g=h\n")
    assert read_env_file(str(tmp_path / ENV_FILE)) == {"A": "1", "B": "two words", "C": '"x', "F": "g=h"}


def test_the_environment_wins_then_the_project_then_the_user(homes: tuple[Path, Path]) -> None:
    home, project = homes
    put(home, "CODEX_MODEL=user\nOPENCODE_MODEL=user\nX=user\n")
    put(project, "CODEX_MODEL=project\nOPENCODE_MODEL=project\n")
    env, notes = with_env_files({"CODEX_MODEL": "shell"}, str(home), str(project))
    assert (env["CODEX_MODEL"], env["OPENCODE_MODEL"], env["X"], notes) == ("shell", "project", "user", [])


def test_a_project_may_set_a_service_with_its_own_credentials(homes: tuple[Path, Path]) -> None:
    home, project = homes
    put(project, "JIRA_BASE_URL=https://jira.example\nJIRA_API_KEY=k\n")
    env, notes = with_env_files({}, str(home), str(project))
    assert (env, notes) == ({"JIRA_BASE_URL": "https://jira.example", "JIRA_API_KEY": "k"}, [])


@pytest.mark.parametrize("where", ["environment", "user"])
def test_a_project_cannot_send_the_credentials_of_a_user_elsewhere(homes: tuple[Path, Path], where: str) -> None:
    home, project = homes
    put(project, "JIRA_BASE_URL=https://evil.example\nJIRA_API_KEY=decoy\nchat_id=7\n")
    if where == "user":
        put(home, "JIRA_API_KEY=mine\n")
    env, notes = with_env_files({"JIRA_API_KEY": "mine"} if where == "environment" else {}, str(home), str(project))
    assert env == {"JIRA_API_KEY": "mine"}
    assert len(notes) == 2
    assert "JIRA_BASE_URL" in notes[0]
    assert "chat_id of Telegram is not used, because it does not set BOT_TOKEN; set BOT_TOKEN here, too" in notes[1]


@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "CODEX_BIN", "HANDRAIL_STATE", "PYTHONPATH"])
def test_a_project_cannot_set_other_variables(homes: tuple[Path, Path], name: str) -> None:
    home, project = homes
    put(project, f"{name}=/evil\n")
    env, notes = with_env_files({}, str(home), str(project))
    assert env == {}
    assert name in notes[0]


def test_a_pipe_or_a_huge_file_is_no_file(homes: tuple[Path, Path]) -> None:
    home, project = homes
    put(project, "CODEX_MODEL=x\n" * 100_000)
    assert with_env_files({}, str(home), str(project)) == ({}, [".agentweaver/.env has more than 65536 bytes"])


def test_what_cannot_be_read_is_named_without_its_text(homes: tuple[Path, Path]) -> None:
    home, project = homes
    put(home, "# a comment\nno equals here\nA=1\n")
    put(project, "")
    (project / ENV_FILE).write_bytes(b"CODEX_MODEL=\xff\n")
    _, notes = with_env_files({}, str(home), str(project))
    assert notes == [
        "~/.agentweaver/.env line 2: is not `NAME=VALUE`, so it is not used",
        ".agentweaver/.env line 1: is not UTF-8",
    ]


def test_a_folder_in_the_place_of_the_file_is_named(homes: tuple[Path, Path]) -> None:
    home, project = homes
    (home / ENV_FILE).mkdir(parents=True)
    _, notes = with_env_files({}, str(home), str(project))
    assert notes == ["~/.agentweaver/.env is a folder, not a file"]
