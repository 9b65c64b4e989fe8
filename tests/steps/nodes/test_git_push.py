"""`git-push` with real remotes: a folder, and git's own server over HTTP with a login. Pushed once, never by force."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steps.nodes.repositories import Checkout, isolate
from steps.nodes.steps import failed, step
from steps.services.git_web import GitWeb, serve_git
from support import Project

TOKEN = "ghp_s3cretS3cretS3cret"


class Remote:
    """A checkout whose remote `origin` is a bare repository."""

    def __init__(self, checkout: Checkout, bare: Path) -> None:
        self.checkout = checkout
        self.bare = bare

    def at(self, branch: str) -> str | None:
        words = ["git", "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}"]
        return subprocess.run(words, cwd=self.bare, capture_output=True, text=True, check=False).stdout.strip() or None

    def push(self, env: dict[str, str] | None = None, **params: Any) -> Any:
        return step("git-push", params, self.checkout.folder, {**os.environ, **(env or {})})

    def refused(self, env: dict[str, str] | None = None, **params: Any) -> tuple[str, str]:
        error = failed("git-push", params, self.checkout.folder, {**os.environ, **(env or {})})
        return error.code, error.message


def checkout_in(folder: Path) -> Checkout:
    made = Checkout(folder)
    made.write(".gitignore", "/.handrail\n")
    made.write("kept.txt", "one\n")
    made.commit()
    return made


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Remote:
    isolate(monkeypatch)
    checkout, bare = checkout_in(tmp_path / "checkout"), tmp_path / "bare.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)
    checkout.git("remote", "add", "origin", str(bare))
    return Remote(checkout, bare)


def test_a_branch_is_pushed_once(remote: Remote) -> None:
    head = remote.checkout.head
    value = {"remote": "origin", "address": str(remote.bare), "branch": "main", "commit": head}
    assert remote.push() == {**value, "pushed": True}
    assert remote.at("main") == head
    (remote.bare / "hooks").mkdir(exist_ok=True)
    hook = remote.bare / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    assert remote.push() == {**value, "pushed": False}
    assert remote.checkout.git("rev-parse", "refs/remotes/origin/main").strip() == head


def test_another_branch_under_another_name(remote: Remote) -> None:
    remote.checkout.git("tag", "-a", "-m", "tag", "v1")
    remote.checkout.git("config", "push.followTags", "true")
    remote.checkout.git("branch", "side")
    remote.checkout.git("switch", "-q", "--detach")
    assert remote.refused()[0] == "git-missing"
    value = remote.push(branch="side", to="ada/side")
    assert (value["branch"], remote.at("ada/side"), remote.at("side")) == ("ada/side", remote.checkout.head, None)
    assert subprocess.run(["git", "tag"], cwd=remote.bare, capture_output=True, check=True).stdout == b""


def diverged(remote: Remote) -> tuple[str, str]:
    """The remote has a commit of somebody else, and the checkout another one. Returns both."""
    remote.push()
    remote.checkout.write("kept.txt", "theirs\n")
    theirs = remote.checkout.commit("theirs")
    remote.push()
    remote.checkout.git("reset", "-q", "--hard", "HEAD~1")
    remote.checkout.write("kept.txt", "ours\n")
    return theirs, remote.checkout.commit("ours")


def test_commits_of_others_are_not_overwritten(remote: Remote) -> None:
    theirs, ours = diverged(remote)
    code, message = remote.refused()
    assert (code, "rejected" in message, remote.at("main")) == ("git-rejected", True, theirs)
    assert remote.push(force=True)["pushed"] is True
    assert remote.at("main") == ours


def test_settings_of_the_repository_do_not_force(remote: Remote) -> None:
    theirs, _ = diverged(remote)
    remote.checkout.git("config", "remote.origin.push", "+refs/heads/*:refs/heads/*")
    assert remote.refused()[0] == "git-rejected"
    assert remote.at("main") == theirs


def test_a_rule_of_the_remote_is_told(remote: Remote) -> None:
    hook = remote.bare / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'main is protected' >&2\nexit 1\n")
    hook.chmod(0o755)
    code, message = remote.refused()
    assert (code, remote.at("main")) == ("git-rejected", None)
    assert "main is protected" in message


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"remote": "nowhere"}, "git-missing"),
        ({"remote": "--all"}, "git-missing"),
        ({"branch": "nowhere"}, "git-missing"),
        ({"branch": "--all"}, "params"),
        ({"to": "+main"}, "git-rejected"),
        ({"to": "a:b"}, "params"),
        ({"to": "refs/../x"}, "params"),
        ({"force": "yes"}, "params"),
    ],
)
def test_what_cannot_be_pushed(remote: Remote, params: dict[str, Any], code: str) -> None:
    if params == {"to": "+main"}:  # a strange name, but git allows it; it does not force
        assert remote.push(**params)["branch"] == "+main"
        return
    assert remote.refused(**params)[0] == code
    assert remote.at("main") is None


def test_a_remote_that_is_gone(remote: Remote) -> None:
    remote.bare.rename(remote.bare.with_name("away"))
    code, message = remote.refused()
    assert (code, "does not appear to be a git repository" in message) == ("git-failed", True)


FLOW = "phases:\n- id: a\n  steps:\n  - {id: x, node: git-push, params: {}}\n"


@pytest.mark.parametrize("hook", ["post-receive", "pre-receive"])
def test_a_branch_is_pushed_once_if_handrail_is_killed_meanwhile(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hook: str
) -> None:
    """A hook of the remote kills Handrail with SIGKILL: after the push, or before it, and then git goes on alone."""
    isolate(monkeypatch)
    checkout, bare = checkout_in(project.folder), tmp_path / "bare.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)
    checkout.git("remote", "add", "origin", str(bare))
    project.write(".handrail/flows/p.yaml", FLOW)
    path = bare / "hooks" / hook
    path.parent.mkdir(exist_ok=True)
    find = 'p=$$; while [ -n "$p" ] && ! tr "\\0" " " < /proc/$p/cmdline | grep -q "handrail.* run p"; do\n'
    find += 'p=$(ps -o ppid= -p "$p" | tr -d " "); done; kill -9 "$p"'
    path.write_text(f"#!/bin/sh\n[ -e killed ] && exit 0\ntouch killed\n{find}\n")
    path.chmod(0o755)
    assert project.process("run", "p").code == -9
    ended = project.json("resume", "last")
    value = ended["phases"][0]["steps"][0]["value"]
    assert (value["commit"], value["pushed"]) == (checkout.head, True)
    assert Remote(checkout, bare).at("main") == checkout.head


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitWeb]:
    isolate(monkeypatch)
    with serve_git(tmp_path / "served", f"x-access-token:{TOKEN}") as served:
        yield served


def served(web: GitWeb, tmp_path: Path, user: str = "") -> Remote:
    checkout, bare = checkout_in(tmp_path / "checkout"), web.bare("octo/tea.git")
    checkout.git("remote", "add", "origin", f"{web.url.replace('://', f'://{user}')}/octo/tea.git")
    return Remote(checkout, bare)


def github(web: GitWeb, **more: str) -> dict[str, str]:
    return {"GITHUB_API_URL": f"{web.url}/api/v3", "GITHUB_TOKEN": TOKEN, **more}


def test_the_token_is_used_for_the_configured_host(web: GitWeb, tmp_path: Path) -> None:
    remote = served(web, tmp_path)
    value = remote.push(github(web))
    assert value == {
        "remote": "origin",
        "address": f"{web.url}/octo/tea.git",
        "branch": "main",
        "commit": remote.checkout.head,
        "pushed": True,
    }
    assert remote.at("main") == remote.checkout.head
    assert set(web.seen) == {web.login}
    assert remote.checkout.git("rev-parse", "refs/remotes/origin/main").strip() == remote.checkout.head
    assert remote.push(github(web))["pushed"] is False
    assert TOKEN not in (remote.checkout.folder / ".git/config").read_text()


def test_a_token_of_gitlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch)
    with serve_git(tmp_path / "served", f"oauth2:{TOKEN}") as web:
        remote = served(web, tmp_path)
        assert remote.push({"GITLAB_BASE_URL": web.url, "GITLAB_TOKEN": TOKEN})["pushed"] is True


def test_the_token_wins_over_a_header_in_the_settings(web: GitWeb, tmp_path: Path) -> None:
    remote = served(web, tmp_path)
    for scope in ("http", f"http.{web.url}/", f"http.{web.url}/octo/tea.git"):
        remote.checkout.git("config", f"{scope}.extraHeader", "Authorization: Basic b3RoZXI6b25l")
    own = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Ada"}
    assert remote.push(github(web, **own))["pushed"] is True


def test_a_token_that_is_not_accepted(web: GitWeb, tmp_path: Path) -> None:
    remote = served(web, tmp_path)
    wrong = "ghp_an0therT0kenAn0ther"
    code, message = remote.refused(github(web, GITHUB_TOKEN=wrong))
    assert (code, wrong in message, remote.at("main")) == ("git-login", False, None)


def test_the_token_is_not_sent_to_another_host(web: GitWeb, tmp_path: Path) -> None:
    remote = served(web, tmp_path)
    code, _ = remote.refused({"GITHUB_TOKEN": TOKEN, "GITLAB_TOKEN": TOKEN})
    assert code == "git-login"
    assert set(web.seen) == {None}


def test_the_token_does_not_follow_a_redirect_or_a_setting(web: GitWeb, tmp_path: Path) -> None:
    remote = served(web, tmp_path)
    with serve_git(tmp_path / "other", None) as other:
        other.bare("octo/tea.git")
        web.redirect = other.url
        assert remote.refused(github(web))[0] == "git-failed"
        assert other.seen == []
        remote.checkout.git("config", f"url.{other.url}/.insteadOf", f"{web.url}/")
        web.redirect = None
        remote.push(github(web))
        assert set(other.seen) == {None}


def test_a_password_in_the_address_is_not_told(web: GitWeb, tmp_path: Path) -> None:
    remote = served(web, tmp_path, f"x-access-token:{TOKEN}@")
    assert TOKEN not in json.dumps(remote.push())
    assert remote.push(github(web, GITHUB_TOKEN="ghp_an0therT0kenAn0ther", GH_TOKEN=TOKEN))["pushed"] is False
    remote.checkout.git("remote", "set-url", "origin", f"{web.url.replace('://', '://a:pa55word@')}/octo/tea.git")
    code, message = remote.refused()
    assert (code, "pa55word" in message) == ("git-login", False)


def spying(folder: Path) -> tuple[Path, Path]:
    """A program that writes down its environment, and the file in which it does."""
    seen, spy = folder / "seen", folder / "spy"
    seen.touch()
    spy.write_text(f"#!/bin/sh\necho called >> {seen}\nenv >> {seen}\n")
    spy.chmod(0o755)
    return spy, seen


def told(web: GitWeb, seen: Path) -> bool:
    """True if the token is in a file, as it is or as git sends it."""
    assert web.login is not None
    return TOKEN in seen.read_text() or web.login.removeprefix("Basic ") in seen.read_text()


def test_programs_of_the_repository_do_not_see_the_token(web: GitWeb, tmp_path: Path) -> None:
    """An agent can write hooks and settings of the repository. None of them gets the token."""
    remote = served(web, tmp_path)
    checkout = remote.checkout
    spy, seen = spying(tmp_path)
    for hook in ("pre-push", "reference-transaction"):
        checkout.hook(hook, f"echo hook {hook} >> {seen}; exec {spy}")
    for setting in ("core.fsmonitor", "core.sshCommand", "gpg.program", "core.gitProxy"):
        checkout.git("config", setting, str(spy))
    checkout.git("config", "push.gpgSign", "if-asked")
    checkout.git("config", "remote.origin.vcs", "spy")
    remote.push(github(web, GIT_TRACE_CURL=str(seen), GIT_TRACE_REDACT="0"))
    assert remote.at("main") == checkout.head
    assert "hook pre-push" in seen.read_text()
    assert not told(web, seen)


@pytest.mark.parametrize("setting", ["core.askPass", "credential.helper", "credential.{url}.helper"])
def test_programs_that_know_passwords_do_not_see_the_token(web: GitWeb, tmp_path: Path, setting: str) -> None:
    """Git asks them if the remote does not accept the token."""
    remote = served(web, tmp_path)
    spy, seen = spying(tmp_path)
    web.login, accepted = "Basic another", web.login
    remote.checkout.git(
        "config", setting.format(url=f"{web.url}/octo/tea.git"), f"{'!' if 'helper' in setting else ''}{spy}"
    )
    assert remote.refused(github(web))[0] == "git-login"
    web.login = accepted
    assert not told(web, seen)
    assert seen.read_text() == ""


def test_a_program_that_a_setting_leads_to_does_not_see_the_token(web: GitWeb, tmp_path: Path) -> None:
    remote = served(web, tmp_path)
    spy, seen = spying(tmp_path)
    remote.checkout.git("config", f"url.ext::{spy} .insteadOf", f"{web.url}/octo/")
    remote.checkout.git("config", "protocol.ext.allow", "always")
    remote.refused(github(web))
    assert "called\n" in seen.read_text()
    assert not told(web, seen)


def test_a_failing_hook_stops_the_push(web: GitWeb, tmp_path: Path) -> None:
    remote = served(web, tmp_path)
    remote.checkout.hook("pre-push", 'read a b c d; echo "tests fail for $c of $1" >&2; exit 1')
    code, message = remote.refused(github(web))
    assert (code, remote.at("main")) == ("git-failed", None)
    assert message == "the hook `pre-push` ended with 1: tests fail for refs/heads/main of origin"


def test_the_token_is_no_argument_of_a_program(web: GitWeb, tmp_path: Path) -> None:
    """A `git` of our own writes down its arguments, then runs the real one."""
    remote = served(web, tmp_path)
    real = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    folder, seen = tmp_path / "bin", tmp_path / "arguments"
    folder.mkdir()
    (folder / "git").write_text(f'#!/bin/sh\necho "$@" >> {seen}\nexec {real} "$@"\n')
    (folder / "git").chmod(0o755)
    remote.push(github(web, PATH=f"{folder}:{os.environ['PATH']}"))
    said = seen.read_text()
    assert "push" in said
    assert TOKEN not in said
    assert web.login is not None
    assert web.login.removeprefix("Basic ") not in said
