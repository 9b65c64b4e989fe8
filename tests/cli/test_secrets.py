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
    step = "{id: x, node: command, params: {argv: [touch, out.md]}, makes: [out.md]}"
    secretive.write(".handrail/flows/make.yaml", f"phases:\n- id: a\n  steps:\n  - {step}\n")
    assert (
        "contains the value of the secret variable `FOREIGN_API_KEY`" in secretive.json("run", "make", code=1)["error"]
    )
    assert holding(secretive.home, FOREIGN) == []


def test_an_exit_check_shows_no_secret(secretive: Project) -> None:
    secretive.workflow("w", ["a", "b"])
    secretive.phase("w", "a", "exit:\n  - run: echo mine $OWN_TOKEN; exit 1\n")
    secretive.json("start", "w", "x")
    view = secretive.json("next", code=5)
    assert "mine [hidden]" in view["message"]
    assert view["checks"][0]["detail"] == "it ended with exit code 1\nmine [hidden]"
    assert "mine [hidden]" in secretive.run("next").out
    assert holding(secretive.home, OWN) == []


def test_a_task_of_a_workflow_is_stored_without_secrets(secretive: Project) -> None:
    secretive.workflow("w", ["a"])
    secretive.json("start", "w", "use", OWN)
    assert secretive.json("status")["task"] == "use $OWN_TOKEN", "what an agent can use in its shell"
    assert holding(secretive.home, OWN) == []


SHOW = """\
env: [FOREIGN_API_KEY]
phases:
- id: a
  steps:
  - {id: x, node: command, params: {argv: [/bin/sh, -c, 'echo is $T'], env: {T: '${context.env.FOREIGN_API_KEY}'}}}
  - {id: y, node: set, params: {given: '${params.t}', out: '${steps.a.x.outputs.output}'}}
"""


def test_every_screen_shows_the_mask(secretive: Project) -> None:
    secretive.write(".handrail/flows/show.yaml", SHOW)
    given = ("run", "show", "--param", f"t=it is {FOREIGN}")
    told = [
        secretive.run(*given, "--json"),
        secretive.run(*given, "--events"),
        secretive.run(*given, "--dry-run"),
        secretive.run(*given, "--dry-run", "--json"),
        secretive.run("log", "last"),
        secretive.run("log", "last", "--json"),
        secretive.run("runs"),
        secretive.run("runs", "last", "--json"),
    ]
    assert [said.code for said in told] == [0] * len(told)
    assert not [said for said in told if FOREIGN in said.out + said.err or "${secret" in said.out + said.err]
    assert all("[hidden]" in said.out for said in told)
    value = told[0].data["phases"][0]["steps"][1]["value"]
    assert value == {"given": "it is [hidden]", "out": "is [hidden]\n"}
    assert holding(secretive.home, FOREIGN) == []


def test_a_user_excepts_a_variable_and_its_value_is_ordinary_data(secretive: Project) -> None:
    secretive.write("out.md", f"key: {FOREIGN}")
    make = "phases:\n- id: a\n  steps:\n  - {id: x, node: set, params: {t: '${params.t}'}}\n"
    make += "  - {id: y, node: command, params: {argv: [touch, out.md]}, makes: [out.md]}\n"
    secretive.write(".handrail/flows/make.yaml", make)
    secretive.home.mkdir(exist_ok=True)
    (secretive.home / "config").mkdir(exist_ok=True)
    (secretive.home / "config" / "settings.yaml").write_text("secrets: {except: [FOREIGN_*]}\n")
    data = secretive.json("run", "make", "--param", f"t={FOREIGN}")
    assert data["phases"][0]["steps"][0]["value"] == {"t": FOREIGN}
    assert len(data["artifacts"]) == 1


def test_a_project_adds_secrets_but_excepts_none(secretive: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SONAR_PROJECT_KEY", "my-service")
    settings = "agent: scripted\nsecrets:\n  add: [SONAR_PROJECT_KEY]\n  except: [FOREIGN_API_KEY]\n  ad: [X]\n"
    secretive.write(".handrail/settings.yaml", settings)
    secretive.write(".handrail/flows/show.yaml", SHOW)
    found = secretive.json("validate", code=2)["problems"]
    assert [(one["code"], one["line"]) for one in found] == [("bad-value", 4), ("unknown-key", 5)]
    assert "a project must not except names" in found[0]["message"]
    secretive.json("run", "show", "--param", "t=my-service", code=2)
    secretive.write(".handrail/settings.yaml", settings.partition("  except")[0])
    data = secretive.json("run", "show", "--param", "t=my-service")
    assert data["phases"][0]["steps"][1]["value"] == {"given": "[hidden]", "out": "is [hidden]\n"}


def test_names_in_the_settings_are_checked(secretive: Project) -> None:
    secretive.write(".handrail/settings.yaml", "secrets:\n  add: [GOOD_*, 'A B', {x: 1}]\n")
    found = secretive.json("validate", code=2)["problems"]
    assert [(one["code"], one["line"]) for one in found] == [("bad-value", 2), ("bad-value", 2)]
    secretive.write(".handrail/settings.yaml", "secrets:\n  add: NAME\n")
    assert secretive.json("validate", code=2)["problems"][0]["code"] == "wrong-type"
