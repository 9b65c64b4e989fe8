"""No secret of Jira, GitLab or Telegram in a file, on a screen, or in the environment of a program that we start."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from agentweaver.scene import ISSUE, KEY, MERGE_REQUEST, Scene, services
from steps.nodes.repositories import Checkout
from steps.services.web import Asked, Reply
from support import Project

USER = "ada@example.com"
JIRA, GITLAB, TELEGRAM = 'jira"sentinel/4711+key', 'gitlab"sentinel/4712+key', '4713:telegram"sentinel/+key'
CHAT = "-1004714471447"
SECRETS = {"JIRA_API_KEY": JIRA, "GITLAB_TOKEN": GITLAB, "TELEGRAM_BOT_TOKEN": TELEGRAM, "TELEGRAM_CHAT_ID": CHAT}
PAIR = base64.b64encode(f"{USER}:{JIRA}".encode()).decode()
"""What Jira Cloud gets."""
SENT = {"JIRA_API_KEY": PAIR, "GITLAB_TOKEN": GITLAB, "TELEGRAM_BOT_TOKEN": TELEGRAM, "TELEGRAM_CHAT_ID": CHAT}
PROJECT_FILE, USER_FILE = ".agentweaver/.env", "user/.agentweaver/.env"
SCRIPT = "- {tool: bash, input: {command: 'env > agent.env; echo 1 > notes.md'}}\n- {say: done}\n"
FLOW = """\
phases:
- id: all
  steps:
  - id: issue
    node: jira-fetch
    params: {jiraApiUrl: "%(jira)s/rest/api/2/issue/ABC-1", outputFile: issue.json,
             attachmentsManifestFile: files.json, attachmentsContextFile: files.md}
  - {id: diff, node: fetch-gitlab-diff, params: {mergeRequestUrl: "%(mr)s", outputFile: d.md, outputJsonFile: d.json}}
  - {id: talk, node: fetch-gitlab-review, params: {mergeRequestUrl: "%(mr)s", outputFile: r.md, outputJsonFile: r.json}}
  - {id: told, node: telegram-notify, params: {message: Done.}}
  - {id: agent, node: llm-prompt, prompt: Write notes.}
  - id: program
    node: command
    params: {argv: [/bin/sh, -c, "env > command.env; cat .agentweaver/.env"]}
    expect: [{run: "env > expect.env"}]
  - {id: script, node: local-script-check, params: {argv: [/bin/sh, -c, "env > script.env"], labelText: x}}
  - {id: commit, node: git-commit, params: {message: Notes, files: [notes.md]}}
"""
PROGRAMS = ("agent", "command", "expect", "script", "hook")


def forms(secret: str) -> set[str]:
    """Every way in which a secret may be written, and its beginning and its end, for texts that were cut."""
    whole = {secret, secret[:10], secret[-10:], quote(secret), quote(secret, safe=""), json.dumps(secret)[1:-1]}
    for before in range(3):  # base64 of a longer text has another alignment
        for code in (base64.b64encode, base64.urlsafe_b64encode):
            whole.add(code(b"-" * before + secret.encode()).decode()[4:-4])
    return whole


LOOKED_FOR = {form: name for texts in (SECRETS, SENT) for name, text in texts.items() for form in forms(text)}


def found_in(data: bytes) -> set[str]:
    lower = data.lower()  # the host of an address has no upper case
    return {f"{name}: {form}" for form, name in LOOKED_FOR.items() if form.lower().encode() in lower}


def leaks(folder: Path) -> dict[str, set[str]]:
    """The files below a folder that contain a secret or have one in their name; not the user's files with them."""
    found = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if name not in (f"project/{PROJECT_FILE}", USER_FILE):
            data = path.read_bytes() if path.is_file() else b""
            found[name] = found_in(name.encode() + b"\n" + data)
    return {name: secrets for name, secrets in found.items() if secrets}


@pytest.fixture
def secretive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Scene]:
    """A secret in each place: the environment, the user's file, and the project's file."""
    with services() as webs:
        scene = Scene(Project(tmp_path, monkeypatch, capsys), webs, monkeypatch)
        for name in ("JIRA_BASE_URL", "JIRA_API_KEY", "TELEGRAM_BOT_TOKEN", "TELEGRAM_CHAT_ID"):
            monkeypatch.delenv(name)
        monkeypatch.setenv("GITLAB_TOKEN", GITLAB)
        jira = {"JIRA_BASE_URL": webs.jira.url, "JIRA_API_KEY": JIRA, "JIRA_USERNAME": USER, "JIRA_AUTH_MODE": "basic"}
        scene.project.write(PROJECT_FILE, "".join(f"{name}={value}\n" for name, value in jira.items()))
        telegram = {"TELEGRAM_BOT_TOKEN": TELEGRAM, "TELEGRAM_CHAT_ID": CHAT}
        (tmp_path / USER_FILE).parent.mkdir(parents=True)
        (tmp_path / USER_FILE).write_text("".join(f"{name}={value}\n" for name, value in telegram.items()))
        Checkout(scene.project.folder).hook("pre-commit", "env > hook.env")
        scene.project.write("script.yaml", SCRIPT)
        urls = {"jira": webs.jira.url, "mr": webs.gitlab.url + MERGE_REQUEST}
        scene.project.write(".handrail/flows/all.yaml", FLOW % urls)
        yield scene


def screens(scene: Scene, run: str) -> dict[str, set[str]]:
    """What people and programs can ask about a run, and the secrets that it prints."""
    asked = [("log", run), ("log", run, "--events"), ("log", run, "--json"), ("runs",), ("runs", "--json")]
    asked += [("artifacts", "--json"), ("status",), ("list", "--json"), ("validate",)]
    found = {}
    for argv in asked:
        said = scene.project.run(*argv)
        found[" ".join(argv)] = found_in((said.out + said.err).encode())
    return {name: secrets for name, secrets in found.items() if secrets}


def play(scene: Scene, flow: str = "all", code: int = 0, *more: str) -> dict[str, Any]:
    """Run a flow; no secret is printed."""
    scene.project.write("answers.json", json.dumps(scene.answers))
    argv = ("run", flow, "--scope", KEY, "--agent", "scripted", "--answers", "answers.json", *more)
    said = scene.project.run(*argv, "--json")
    assert found_in((said.out + said.err).encode()) == set()
    assert said.code == code, said
    return said.data


@pytest.mark.whole
def test_a_run_leaves_no_secret(secretive: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    run = play(secretive)
    assert secretive.webs.jira.asked[0].headers["authorization"] == f"Basic {PAIR}"
    assert secretive.webs.gitlab.asked[0].headers["private-token"] == GITLAB
    assert quote(TELEGRAM, safe=":") in secretive.webs.telegram.asked[0].path
    seen = {name: (secretive.project.folder / f"{name}.env").read_text() for name in PROGRAMS}
    for name, text in seen.items():
        assert "PATH=" in text, name
        assert [secret for secret in SECRETS if f"{secret}=" in text] == [], name
    assert leaks(tmp_path) == {}
    assert screens(secretive, run["run"]) == {}
    said = secretive.project.process("run", "all", "--scope", "two", "--agent", "scripted")
    assert found_in((said.out + said.err).encode()) == set()
    assert leaks(tmp_path) == {}


@pytest.mark.whole
@pytest.mark.parametrize("flow", ["plan", "gitlab-review", "gitlab-diff-review", "auto-simple"])
def test_a_shipped_flow_leaves_no_secret(secretive: Scene, tmp_path: Path, flow: str) -> None:
    run = play(secretive, flow, 0, *([] if "gitlab" in flow else [ISSUE]))
    assert run["status"] == "completed"
    assert leaks(tmp_path) == {}
    assert screens(secretive, run["run"]) == {}


def test_a_step_gets_the_secret_that_its_flow_names(secretive: Scene) -> None:
    step = "{id: x, node: command, params: {argv: [/bin/sh, -c, env > x.env], env: {T: '${context.env.GITLAB_TOKEN}'}}}"
    secretive.project.write(
        ".handrail/flows/named.yaml", f"env: [GITLAB_TOKEN]\nphases: [{{id: a, steps: [{step}]}}]\n"
    )
    play(secretive, "named")
    assert f"T={GITLAB}\n" in (secretive.project.folder / "x.env").read_text()
    assert leaks(secretive.project.home) == {}


LONG = "x" * 285
PARROTS = {
    "refuses": lambda told: Reply({"message": told, "errorMessages": [told], "description": told, "ok": False}, 403),
    "refuses at length": lambda told: Reply({"message": LONG + told, "errorMessages": [LONG + told]}, 400),
    "names another kind": lambda told: Reply(b"<html>", 200, {"Content-Type": f"text/{told}"}),
    "redirects": lambda told: Reply(None, 302, {"Location": f"http://{quote(told, safe='')}.example/{quote(told)}"}),
    "is missing": lambda told: Reply({"message": quote(told, safe=""), "errorMessages": [quote(told, safe="")]}, 404),
    "is not well": lambda told: Reply({"message": {"error": told}, "errors": {"error": told}}, 400),
}
"""Services that repeat what they were sent, when they fail."""


def only(scene: Scene, step: str) -> None:
    """Leave only one step in the flow."""
    path = scene.project.folder / ".handrail/flows/all.yaml"
    head, steps = path.read_text().split("  steps:\n")
    own = next(part for part in steps.split("  - ") if part.startswith((f"id: {step}\n", f"{{id: {step},")))
    path.write_text(f"{head}  steps:\n  - {own}")


def parrot(way: str) -> Any:
    def answer(asked: Asked) -> Reply:
        header = asked.headers.get("authorization", "").removeprefix("Basic ") or asked.headers.get("private-token")
        return PARROTS[way](header or f"http://127.0.0.1{asked.path}")

    return answer


@pytest.mark.whole(8)
@pytest.mark.parametrize("way", PARROTS)
@pytest.mark.parametrize("step", ["issue", "diff", "talk", "told"])
def test_a_service_that_repeats_its_credentials(secretive: Scene, tmp_path: Path, step: str, way: str) -> None:
    for web in secretive.webs:
        web.answer = parrot(way)
    only(secretive, step)
    run = play(secretive, "all", 0 if step == "told" else 1)
    assert leaks(tmp_path) == {}
    assert screens(secretive, run["run"]) == {}


@pytest.mark.parametrize("whose", ["own", "other"])
@pytest.mark.parametrize("step", ["issue", "diff", "talk"])
def test_an_answer_with_a_secret_is_not_written(secretive: Scene, tmp_path: Path, step: str, whose: str) -> None:
    def answer(asked: Asked) -> Reply:
        own = asked.headers.get("private-token") or asked.headers["authorization"]
        told = own if whose == "own" else TELEGRAM
        if asked.path.endswith("/diffs"):
            return Reply([{"old_path": "a", "new_path": "a", "diff": told}])
        if asked.path.endswith("/discussions"):
            return Reply([{"id": "d", "notes": [{"id": 1, "body": told}]}])
        return Reply({"title": "t", "fields": {"summary": told}})

    for web in secretive.webs:
        web.answer = answer
    only(secretive, step)
    run = play(secretive, "all", 1)
    assert run["reason"].split()[0] == ("service-secret" if whose == "own" else "artifact-secret")
    assert leaks(tmp_path) == {}
