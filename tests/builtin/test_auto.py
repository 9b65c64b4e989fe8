"""`auto` and `pr-watch`, from a ticket to a pull request without open remarks, in two small real projects."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agentweaver.agent import Mood
from builtin.forge import Forge
from builtin.gitlabs import GitLab
from builtin.projects import PYTHON, TYPESCRIPT, Kind
from builtin.shop import APPROVED, KEY, Shop
from support import Project

TICKET = "octo/tea#12"
BRANCH = "handrail/tea-12"
NODE_FOLDERS = (Path(__file__).parents[2] / ".cache/agents/node_modules/.bin", Path("/usr/bin"), Path("/usr/local/bin"))


def with_node(patch: pytest.MonkeyPatch) -> None:
    """Put a Node onto the PATH that runs TypeScript."""
    for folder in NODE_FOLDERS:
        if (folder / "node").exists():
            argv = [str(folder / "node"), "--version"]
            said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
            major, minor = (int(part) for part in said.strip().removeprefix("v").split(".")[:2])
            if (major, minor) >= (22, 18) and shutil.which("npm"):
                patch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
                return
    pytest.skip("needs npm and a Node that runs TypeScript, 22.18 or newer")


@pytest.fixture(params=["python", "typescript"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kind:
    if request.param == "typescript":
        with_node(monkeypatch)
        return TYPESCRIPT
    return PYTHON


def shop_with(kind: Kind, project: Project, forge: Forge, patch: pytest.MonkeyPatch) -> Shop:
    forge.objects["issues/12"] = {"number": 12, "title": "Slugs", "body": "Make slugs.", "state": "open"}
    forge.said(12)
    shop = Shop(project, forge, patch, kind.files)
    shop.agent(kind.writes, Mood(bad_reviews=1))
    return shop


@pytest.mark.whole
def test_a_ticket_becomes_a_pull_request_and_its_remarks_come_back_into_the_work(
    kind: Kind, project: Project, forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = shop_with(kind, project, forge, monkeypatch)
    run = shop.run_and_die("auto", TICKET, *APPROVED, at="POST pulls")
    ended = shop.resume(run)
    assert (ended["status"], ended["outcome"]) == ("completed", "success"), ended
    found = next(step for step in ended["phases"][0]["steps"] if step["id"] == "check")
    assert found["value"]["line"] == kind.check
    results = [shop.project.folder / f".agentweaver/scopes/{KEY}/.artifacts/check-{KEY}-{n}.json" for n in (1, 2)]
    checks = [json.loads(path.read_text())["ok"] for path in results]
    assert checks == [False, True]
    assert shop.file("review-json-file", 2).is_file()
    assert forge.show(BRANCH, kind.code) == kind.reviewed
    assert (forge.pushes, len(forge.pulls)) == (["main", BRANCH], 1)
    assert forge.pulls[0]["title"] == "Keep the order of the items"
    assert shop.checkout.git("log", "-1", "--format=%s").strip() == "Keep the order of the items"
    shop.assert_valid()

    forge.needs, forge.remarks = "CHANGELOG.md", ["Please document it."]
    run = shop.run_and_die("pr-watch", "octo/tea#1", *APPROVED, "--param", "wait=0", at="POST issues/1/comments")
    ended = shop.resume(run)
    assert (ended["status"], ended["outcome"]) == ("completed", "success"), ended
    assert forge.pushes == ["main", BRANCH, BRANCH, BRANCH]
    said = [comment["body"].partition("\n")[0] for comment in forge.said(1)]
    assert said == ["`ci`: added the changelog.", "Please document it.", "Documented it."]
    assert {"CHANGELOG.md", "README.md"} <= set(forge.files(BRANCH))
    assert "makes slugs" in forge.show(BRANCH, "README.md")
    shop.assert_valid()


@pytest.mark.whole
def test_a_change_is_watched_by_the_same_run(project: Project, forge: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = shop_with(PYTHON, project, forge, monkeypatch)
    forge.needs, forge.remarks = "CHANGELOG.md", ["Please document it."]
    ended = shop.run("auto", TICKET, *APPROVED, "--param", "watch=true")
    assert (ended["status"], ended["outcome"]) == ("completed", "success"), ended
    assert ended["phases"][-1]["status"] == "done"
    assert forge.pushes == ["main", BRANCH, BRANCH, BRANCH]
    assert {"CHANGELOG.md", "README.md"} <= set(forge.files(BRANCH))
    shop.assert_valid()


@pytest.mark.whole
def test_an_issue_of_gitlab_becomes_a_merge_request_once(
    project: Project, forge: Forge, gitlab: GitLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The branch is pushed to the bare repository; the address of the remote is that of GitLab."""
    shop = shop_with(PYTHON, project, forge, monkeypatch)
    shop.checkout.git("remote", "set-url", "origin", f"{gitlab.web.url}/group/tea.git")
    run = shop.run_and_die("auto", gitlab.page("issues/12"), *APPROVED, killer=gitlab)
    ended = shop.resume(run)
    assert (ended["status"], ended["outcome"]) == ("completed", "success"), ended
    assert [(row["source_branch"], row["target_branch"], row["title"]) for row in gitlab.made] == [
        (BRANCH, "main", "Keep the order of the items")
    ]
    assert forge.pushes == ["main", BRANCH]
    assert forge.show(BRANCH, PYTHON.code) == PYTHON.reviewed
    assert forge.pulls == []
    shop.assert_valid()

    gitlab.forge, forge.needs, forge.remarks = forge, "CHANGELOG.md", ["Please document it."]
    page = gitlab.page("merge_requests/20")
    run = shop.run_and_die("pr-watch", page, *APPROVED, "--param", "wait=0", killer=gitlab)
    ended = shop.resume(run)
    assert (ended["status"], ended["outcome"]) == ("completed", "success"), ended
    assert forge.pushes == ["main", BRANCH, BRANCH, BRANCH]
    said = [note["body"].partition("\n")[0] for note in gitlab.notes]
    assert said == ["`ci`: added the changelog.", "Please document it.", "Documented it."]
    assert {"CHANGELOG.md", "README.md"} <= set(forge.files(BRANCH))
    shop.assert_valid(pr_checks="gitlab-checks/v1", pr_comments="gitlab-review/v1")


@pytest.mark.whole
def test_a_person_agrees_at_each_gate(project: Project, forge: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = shop_with(PYTHON, project, forge, monkeypatch)
    shop.answers |= {"approve": {"approved": True}, "propose": {"approved": True}}
    run = shop.run_and_die("auto-guided", TICKET, at="POST pulls")
    ended = shop.resume(run)
    assert (ended["status"], ended["outcome"]) == ("completed", "success"), ended
    assert (forge.pushes, len(forge.pulls)) == (["main", BRANCH], 1)
    assert forge.show(BRANCH, PYTHON.code) == PYTHON.reviewed
    shop.assert_valid()


@pytest.mark.whole
@pytest.mark.parametrize("form", ["approve", "propose"])
def test_a_no_stops_it_before_anything_leaves(
    project: Project, forge: Forge, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    shop = shop_with(PYTHON, project, forge, monkeypatch)
    shop.answers |= {"approve": {"approved": form != "approve"}, "propose": {"approved": False, "reason": "not yet"}}
    ended = shop.run("auto-guided", TICKET, code=1)
    assert (ended["status"], ended["outcome"]) == ("stopped", "stopped")
    assert (forge.pushes, forge.pulls) == (["main"], [])


def test_work_that_is_not_committed_does_not_get_into_the_change(
    project: Project, forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = shop_with(PYTHON, project, forge, monkeypatch)
    shop.checkout.write("README.md", "mine\n")
    ended = shop.run("auto", TICKET, code=1)
    assert "uncommitted changes" in ended["error"]
    assert forge.web.asked == []


def test_a_project_without_a_check_is_told_before_anything_is_done(
    project: Project, forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = shop_with(PYTHON._replace(files={"README.md": "x\n"}), project, forge, monkeypatch)
    ended = shop.run("auto", TICKET, code=1)
    assert ended["reason"].startswith("check-missing")
    assert forge.web.asked == []


@pytest.mark.whole
def test_a_repository_without_the_remote_is_told_before_anything_is_done(
    project: Project, forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = shop_with(PYTHON, project, forge, monkeypatch)
    shop.checkout.git("remote", "rename", "origin", "upstream")
    ended = shop.run("auto", TICKET, code=1)
    assert "there is no remote of this name; `git remote` lists them" in ended["error"]
    assert forge.web.asked == []
    assert shop.run("auto", TICKET, "--param", "remote=upstream", *APPROVED)["outcome"] == "success"


def test_a_remote_that_is_on_no_forge_is_told_before_anything_is_done(
    project: Project, forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = shop_with(PYTHON, project, forge, monkeypatch)
    shop.checkout.git("remote", "set-url", "origin", "https://git.example.com/shop/tea.git")
    ended = shop.run("auto", TICKET, code=1)
    assert ended["reason"] == "remote-address at begin/forge"
    assert "say `forge`" in ended["error"]
    assert forge.web.asked == []


def test_the_forge_that_a_person_names_is_known_in_the_first_phase(
    project: Project, forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = shop_with(PYTHON, project, forge, monkeypatch)
    shop.checkout.git("remote", "set-url", "origin", "https://git.example.com/shop/tea.git")
    place = ("--param", "forge=github", "--param", "repository=octo/tea")
    ended = shop.run("auto", TICKET, *place, "--until", "begin")
    assert ended["phases"][0]["steps"][-1]["value"] == {"forge": "github", "repository": "octo/tea"}
    rows = project.json("run", "auto-guided", TICKET, *place, "--dry-run")["rows"]
    (params,) = [row["params"] for row in rows if row.get("flow") == "auto"]
    assert (params["forge"], params["repository"]) == ("github", "octo/tea")


@pytest.mark.parametrize("name", ["auto", "auto-common", "auto-common-guided", "auto-golang", "auto-simple"])
def test_a_message_tells_of_each_stage(project: Project, name: str) -> None:
    phases = {phase["id"]: phase["steps"] for phase in project.json("phases", name)["phases"]}
    told = [id_ for id_, steps in phases.items() if {"tell", "telegram"} & {*steps}]
    assert told == ["plan", "code" if name == "auto" else "implement", "open" if name == "auto" else "tell"]


@pytest.mark.whole
def test_a_run_that_failed_because_of_the_remote_goes_on_with_the_forge_that_a_person_names(
    project: Project, forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = shop_with(PYTHON, project, forge, monkeypatch)
    address = shop.checkout.git("remote", "get-url", "origin").strip()
    shop.checkout.git("remote", "set-url", "origin", "https://git.example.com/shop/tea.git")
    run = shop.run("auto", TICKET, code=1)["run"]
    shop.checkout.git("remote", "set-url", "origin", address)
    names = ("--param", "forge=github", "--param", "repository=octo/tea")
    ended = project.json("resume", run, *names, *APPROVED, "--agent", "scripted", "--answers", "answers.json")
    assert ended["outcome"] == "success"
    assert len(forge.pulls) == 1


@pytest.mark.whole
def test_without_a_forge_the_work_ends_before_anything_leaves(
    project: Project, forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = shop_with(PYTHON, project, forge, monkeypatch)
    ended = shop.run("auto", TICKET, "--param", "forge=none", "--param", "watch=true")
    assert (ended["outcome"], [phase["status"] for phase in ended["phases"][-2:]]) == ("success", ["skipped"] * 2)
    assert (forge.pushes, forge.pulls) == (["main"], [])
    assert shop.file("ready-to-merge-file").is_file()
