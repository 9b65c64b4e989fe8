"""Secrets in the environment: who gets them, and that none of our files contains one."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import Project

FOREIGN, OWN = "foreign-secret-4711", "own-secret-0815"
ECHO = "- {tool: bash, input: {command: 'echo $OWN_TOKEN; env > seen.txt'}}\n- {say: the token is OWN}\n".replace(
    "OWN}", OWN + "}"
)


def holding(folder: Path, secret: str) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


@pytest.fixture
def secretive(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("FOREIGN_API_KEY", FOREIGN)
    monkeypatch.setenv("OWN_TOKEN", OWN)
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    project.write(".handrail/settings.yaml", "agent: scripted\npassEnv: [OWN_TOKEN]\n")
    return project


def test_an_agent_gets_the_secrets_it_needs_and_no_file_contains_them(secretive: Project) -> None:
    secretive.write("script.yaml", ECHO)
    secretive.write(
        ".handrail/flows/ask.yaml", "phases:\n- id: a\n  steps:\n  - {id: x, node: llm-prompt, prompt: Go.}\n"
    )
    data = secretive.json("run", "ask")
    assert data["phases"][0]["steps"][0]["value"]["output"] == "the token is [hidden]"
    seen = (secretive.folder / "seen.txt").read_text()
    assert (OWN in seen, FOREIGN in seen) == (True, False)
    assert holding(secretive.home, OWN) == holding(secretive.home, FOREIGN) == []


def test_a_command_gets_only_the_secrets_that_it_names(secretive: Project) -> None:
    secretive.write(
        ".handrail/flows/show.yaml",
        "env: [FOREIGN_API_KEY]\nphases:\n- id: a\n  steps:\n"
        "  - {id: x, node: command, params: {argv: {const: [/bin/sh, -c, 'echo ${FOREIGN_API_KEY-none} > one']}}}\n"
        "  - id: y\n    node: command\n    params:\n      argv: [/bin/sh, -c, 'echo $MINE | tee two']\n"
        "      env: {MINE: '${context.env.FOREIGN_API_KEY}', NONE: ''}\n",
    )
    secretive.json("run", "show")
    assert (secretive.folder / "one").read_text() == "none\n"
    assert (secretive.folder / "two").read_text() == f"{FOREIGN}\n"
    assert holding(secretive.home, FOREIGN) == []


def test_an_artifact_with_a_secret_is_not_published(secretive: Project) -> None:
    secretive.write("out.md", f"key: {FOREIGN}")
    secretive.write(
        ".handrail/flows/make.yaml", "phases:\n- id: a\n  steps:\n  - {id: x, node: set, makes: [out.md]}\n"
    )
    assert (
        "contains the value of the secret variable `FOREIGN_API_KEY`" in secretive.json("run", "make", code=1)["error"]
    )
    assert holding(secretive.home, FOREIGN) == []
