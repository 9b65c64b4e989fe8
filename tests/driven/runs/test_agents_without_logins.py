"""An agent in a run cannot push or comment by itself: its programs have none of the person's logins."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.settings.environment import without_logins
from steps.nodes.repositories import Checkout
from steps.services.git_web import GitWeb, serve_git
from steps.services.web import Reply, serve
from support import Project

LOGIN, TOKEN = "ada:s3cretS3cret", "ghp_s3cretS3cretS3cret"
HELPER = "!f() { echo username=ada; echo password=s3cretS3cret; }; f"
PUSH = "git push -q origin main 2>&1; echo ended $?"


class Person:
    """A person with a checkout of a repository that takes pushes only with a login, and with a scripted agent."""

    def __init__(self, project: Project, web: GitWeb, patch: pytest.MonkeyPatch) -> None:
        self.project = project
        self.web = web
        self.patch = patch
        self.bare = web.bare("tea.git")
        self.home = Path(os.environ["HOME"])
        self.home.mkdir()
        self.checkout = Checkout(project.folder)
        self.checkout.write(".gitignore", "/.handrail\n")
        self.checkout.commit()
        self.checkout.git("remote", "add", "origin", f"{web.url}/tea.git")

    def lets_agent_run(self, command: str) -> str:
        """What the agent's tool printed."""
        script = [{"tool": "bash", "input": {"command": f"({command}) > .handrail/said"}}, {"say": "done"}]
        self.patch.setenv("HANDRAIL_SCRIPT", str(self.project.write(".handrail/script.json", json.dumps(script))))
        flow = {"phases": [{"id": "a", "steps": [{"id": "x", "node": "scripted-prompt", "prompt": "Go."}]}]}
        self.project.write(".handrail/flows/one.json", json.dumps(flow))
        said = self.project.run("run", "one")
        assert said.code == 0, said
        return (self.project.folder / ".handrail/said").read_text()

    @property
    def is_pushed(self) -> bool:
        return (
            "main"
            in subprocess.run(["git", "branch"], cwd=self.bare, capture_output=True, text=True, check=True).stdout
        )

    def has_helper(self) -> None:
        self.checkout.git("config", "--global", "credential.helper", HELPER)

    def has_helper_for_the_address(self) -> None:
        self.checkout.git("config", "--global", f"credential.{self.web.url}.helper", HELPER)

    def has_netrc(self) -> None:
        file = self.home / ".netrc"
        file.write_text(f"machine 127.0.0.1 login {LOGIN.replace(':', ' password ')}\n")
        file.chmod(0o600)

    def has_askpass(self) -> None:
        file = self.home / "ask"
        file.write_text("#!/bin/sh\ncase $1 in User*) echo ada;; *) echo s3cretS3cret;; esac\n")
        file.chmod(0o755)
        self.patch.setenv("GIT_ASKPASS", str(file))

    def has_settings_in_the_environment(self) -> None:
        for name, text in {"COUNT": "1", "KEY_0": "credential.helper", "VALUE_0": HELPER}.items():
            self.patch.setenv(f"GIT_CONFIG_{name}", text)

    def has_header(self) -> None:
        import base64

        pair = base64.b64encode(LOGIN.encode()).decode()
        self.checkout.git("config", "--global", "http.extraHeader", f"Authorization: Basic {pair}")


WAYS: list[Callable[[Person], None]] = [
    Person.has_helper,
    Person.has_helper_for_the_address,
    Person.has_netrc,
    Person.has_askpass,
    Person.has_settings_in_the_environment,
    Person.has_header,
]


@pytest.fixture
def person(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    monkeypatch.setenv("GIT_TERMINAL_PROMPT", "0")
    with serve_git(tmp_path / "served", LOGIN) as web:
        yield Person(project, web, monkeypatch)


@pytest.mark.whole(6)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_an_agent_cannot_push_with_the_logins_of_the_person(person: Person, way: Callable[[Person], None]) -> None:
    way(person)
    printed = person.lets_agent_run(PUSH)
    assert "could not read Username" in printed
    assert ("ended 128" in printed, person.is_pushed) == (True, False)
    assert person.checkout.git("push", "-q", "origin", "main") == "", "the person can"
    assert person.is_pushed


@pytest.mark.whole
def test_the_user_can_leave_agents_their_logins(person: Person) -> None:
    person.has_helper()
    folder = person.project.home / "config"
    folder.mkdir()
    (folder / "settings.yaml").write_text("agentLogins: true\n")
    assert "ended 0" in person.lets_agent_run(PUSH)
    assert person.is_pushed


@pytest.mark.whole
def test_nodes_of_handrail_have_the_logins(person: Person) -> None:
    person.has_helper()
    flow = {"phases": [{"id": "a", "steps": [{"id": "x", "node": "propose", "params": {"effect": "git-push"}}]}]}
    person.project.write(".handrail/flows/push.json", json.dumps(flow))
    person.project.json("run", "push", "--approve", "git-push")
    assert person.is_pushed


@pytest.mark.whole
def test_an_agent_can_read_what_needs_no_login(person: Person, tmp_path: Path) -> None:
    with serve_git(tmp_path / "public", None) as web:
        web.bare("open.git")
        person.checkout.git("push", "-q", f"{web.url}/open.git", "main")
        printed = person.lets_agent_run(
            f"git ls-remote {web.url}/open.git 2>&1; git fetch -q {web.url}/open.git main 2>&1"
        )
    assert printed == f"{person.checkout.head}\tHEAD\n{person.checkout.head}\trefs/heads/main\n"


@pytest.mark.whole
def test_an_agent_cannot_comment_with_the_token_of_the_person(person: Person) -> None:
    """It calls the API as the programs of forges do: with a token of the environment, or of their own files."""
    files = person.home / ".config/gh"
    files.mkdir(parents=True)
    (files / "hosts.yml").write_text(f"github.com: {{oauth_token: {TOKEN}}}\n")
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN"):
        person.patch.setenv(name, TOKEN)

    def answer(asked: Any) -> Reply:
        is_known = TOKEN in asked.headers.get("authorization", "")
        return Reply({"id": 1}, 201) if is_known else Reply({"message": "Bad credentials"}, 401)

    look = "$(cat ${GH_CONFIG_DIR:-$HOME/.config/gh}/hosts.yml 2>/dev/null)"
    with serve(answer) as web:
        token = f'-H "Authorization: Bearer ${{GH_TOKEN:-$GITHUB_TOKEN}}$GITLAB_TOKEN{look}"'
        call = f"curl -s -o /dev/null -w '%{{http_code}}' {token} -d '{{}}' {web.url}/repos/octo/tea/issues/1/comments"
        assert person.lets_agent_run(call) == "401"
        by_person = subprocess.run(["sh", "-c", call], capture_output=True, text=True, check=True)
    assert by_person.stdout == "201"


def test_a_project_cannot_pass_a_login(person: Person) -> None:
    person.patch.setenv("GITHUB_TOKEN", TOKEN)
    person.project.write(".handrail/settings.yaml", "passEnv: [GITHUB_TOKEN, SSH_AUTH_SOCK, TEA]\n")
    said = person.project.run("validate")
    assert "a project must not pass `GITHUB_TOKEN` to agents" in said.out + said.err
    with pytest.raises(AssertionError, match="it is a login of the user"):
        person.lets_agent_run("echo x${GITHUB_TOKEN}x")
    assert not (person.project.folder / ".handrail/said").exists()


@pytest.mark.whole
def test_the_user_can_pass_one_login(person: Person) -> None:
    person.patch.setenv("GITHUB_TOKEN", TOKEN)
    person.patch.setenv("SSH_AUTH_SOCK", "/nowhere")
    folder = person.project.home / "config"
    folder.mkdir()
    (folder / "settings.yaml").write_text("passEnv: [GITHUB_TOKEN]\n")
    assert person.lets_agent_run('test -n "$GITHUB_TOKEN" && echo x${SSH_AUTH_SOCK}x') == "xx\n"


def test_ssh_gets_no_key_and_no_agent() -> None:
    person = {
        "SSH_AUTH_SOCK": "/agent",
        "GIT_SSH_COMMAND": "ssh -i key",
        "SSH_ASKPASS": "ask",
        "PATH": os.environ["PATH"],
    }
    env = without_logins(person, "/empty")
    assert "SSH_AUTH_SOCK" not in env
    assert (env["SSH_ASKPASS"], env["GH_CONFIG_DIR"], env["GLAB_CONFIG_DIR"]) == ("false", "/empty", "/empty")
    argv = [*env["GIT_SSH_COMMAND"].split(), "-G", "host.invalid"]
    shown = dict(
        line.split(" ", 1)
        for line in subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
        if " " in line
    )
    wanted = {
        "pubkeyauthentication": "false",
        "passwordauthentication": "no",
        "batchmode": "yes",
        "identityagent": "none",
    }
    assert {name: shown[name] for name in wanted} == wanted
