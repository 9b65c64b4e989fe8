"""`pr-open`: a pull or merge request is opened once, on the forge of the remote."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from steps.nodes.repositories import Checkout, isolate
from steps.nodes.steps import failed, step
from steps.services.githubs import NAME, OWNER, TOKEN, GitHub
from steps.services.web import Asked, Reply, Web, serve
from support import Project


def checkout_at(folder: Path, address: str) -> Checkout:
    made = Checkout(folder)
    made.write(".gitignore", "/.handrail\n")
    made.commit()
    made.git("switch", "-q", "-c", "tea")
    made.git("remote", "add", "origin", address)
    return made


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHub]:
    isolate(monkeypatch)
    made = GitHub()
    with serve(made.answer) as web:
        made.web = web
        yield made


@pytest.fixture
def checkout(github: GitHub, tmp_path: Path) -> Checkout:
    return checkout_at(tmp_path / "checkout", f"{github.web.url}/{OWNER}/{NAME}.git")


def opened(checkout: Checkout, env: dict[str, str], **params: Any) -> Any:
    return step("pr-open", {"title": "Add tea", **params}, checkout.folder, {**os.environ, **env})


def refused(checkout: Checkout, env: dict[str, str], **params: Any) -> tuple[str, str]:
    error = failed("pr-open", {"title": "Add tea", **params}, checkout.folder, {**os.environ, **env})
    return error.code, error.message


def posts(web: Web) -> list[Any]:
    return [asked.content for asked in web.asked if asked.method == "POST"]


def test_a_pull_request_is_opened_once(github: GitHub, checkout: Checkout) -> None:
    env = github.env()
    value = opened(checkout, env, body=f"It was dry. {TOKEN}", draft=True)
    assert value == {
        "url": github.page("pull", 1),
        "number": 1,
        "state": "open",
        "created": True,
        "forge": "github",
        "repository": f"{OWNER}/{NAME}",
        "head": "tea",
        "base": "main",
    }
    assert opened(checkout, env, body="Other words") == value
    (sent,) = posts(github.web)
    assert {name: sent[name] for name in ("title", "head", "base", "draft")} == {
        "title": "Add tea", "head": f"{OWNER}:tea", "base": "main", "draft": True,
    }  # fmt: skip
    assert sent["body"].startswith("It was dry. [hidden]\n\n<!-- handrail:")


def test_one_that_a_person_opened_is_used(github: GitHub, checkout: Checkout) -> None:
    github.lists["pulls"] = [
        github.pull(1, f"{OWNER}:tea", "main", state="closed"),
        github.pull(2, "eve:tea", "main"),
        github.pull(3, f"{OWNER}:tea", "next"),
        github.pull(4, f"{OWNER}:tea", "main", body="by hand"),
    ]
    value = opened(checkout, github.env())
    assert (value["number"], value["created"], posts(github.web)) == (4, False, [])


def test_a_filter_that_is_not_understood_finds_no_other(github: GitHub, checkout: Checkout) -> None:
    """GitHub answers with all pull requests if it does not understand `head`."""
    others = [github.pull(1, "eve:tea", "main"), github.pull(2, f"{OWNER}:coffee", "main")]
    github.special["GET pulls"] = lambda _: Reply(others)
    assert opened(checkout, github.env())["created"] is True


def test_one_of_a_fork_to_another_base(github: GitHub, checkout: Checkout) -> None:
    value = opened(checkout, github.env(), headOwner="ada", base="next", head="main")
    assert (value["head"], value["base"]) == ("main", "next")
    assert posts(github.web)[0]["head"] == "ada:main"


def test_one_that_was_merged_in_the_meantime_is_not_opened_again(github: GitHub, checkout: Checkout) -> None:
    opened(checkout, github.env())
    github.lists["pulls"][0] |= {"state": "closed", "merged_at": "2026-01-01T00:00:00Z"}
    value = opened(checkout, github.env())
    assert (value["number"], value["state"], value["created"], len(posts(github.web))) == (1, "merged", True, 1)


def lost(github: GitHub) -> Callable[[Asked], Reply]:
    """GitHub opens it, but the connection breaks before the whole answer is there."""

    def answer(asked: Asked) -> Reply:
        github._opened(asked.content)
        return Reply(headers={"Content-Length": "10"}, write=lambda out: out.write(b"{"))

    return answer


def late(github: GitHub) -> Callable[[Asked], Reply]:
    """Somebody else opens it at the same moment, so GitHub refuses a second one."""

    def answer(asked: Asked) -> Reply:
        github._opened(asked.content)
        return github._opened(asked.content)

    return answer


@pytest.mark.parametrize("way", [lost, late])
def test_an_answer_that_is_lost_or_late(github: GitHub, checkout: Checkout, way: Any) -> None:
    github.special["POST pulls"] = way(github)
    assert opened(checkout, github.env())["number"] == 1
    assert len(posts(github.web)) == 1
    assert len(github.lists["pulls"]) == 1


def test_a_refusal_of_github_is_told(github: GitHub, checkout: Checkout) -> None:
    said = {"message": "Validation Failed", "errors": [{"message": "No commits between main and tea"}]}
    github.special["POST pulls"] = lambda _: Reply(said, 422)
    code, message = refused(checkout, github.env(), base="", headOwner="")
    assert code == "service-failed"
    assert message == "GitHub: it answers with 422: Validation Failed: No commits between main and tea"


@pytest.mark.parametrize(
    ("address", "params", "code"),
    [
        ("git@bitbucket.org:octo/tea.git", {}, "remote-address"),
        ("/folder/tea.git", {}, "remote-address"),
        ("https://github.com/octo/tea.git", {}, "remote-address"),
        ("git@127.0.0.1:octo/sub/tea.git", {}, "remote-address"),
        ("git@127.0.0.1:octo/tea.git", {"title": " \n"}, "params"),
        ("git@127.0.0.1:octo/tea.git", {"base": "tea"}, "params"),
        ("git@127.0.0.1:octo/tea.git", {"base": "a b"}, "params"),
        ("git@127.0.0.1:octo/tea.git", {"forge": "bitbucket"}, "params"),
        ("git@127.0.0.1:octo/tea.git", {"remote": "nowhere"}, "git-missing"),
    ],
)
def test_what_cannot_be_opened(github: GitHub, tmp_path: Path, address: str, params: Any, code: str) -> None:
    checkout = checkout_at(tmp_path / "checkout", address)
    assert refused(checkout, github.env(), **params)[0] == code
    assert github.web.asked == []


@pytest.mark.parametrize("address", ["git@127.0.0.1:octo/tea.git", "work:octo/tea"])
def test_a_remote_over_ssh(github: GitHub, tmp_path: Path, address: str) -> None:
    """The name of a host may be an alias in the settings of SSH; then the step says the forge."""
    checkout = checkout_at(tmp_path / "checkout", address)
    more = {"forge": "github"} if address.startswith("work") else {}
    assert opened(checkout, github.env(), **more)["number"] == 1


def test_a_long_title_and_a_long_body_are_cut(github: GitHub, checkout: Checkout) -> None:
    opened(checkout, github.env(), title="Add\n" + "tea " * 100, body="x" * 200_000)
    (sent,) = posts(github.web)
    assert (len(sent["title"]), len(sent["body"])) == (250, 60_000)
    assert sent["body"].endswith(" -->")


class GitLab:
    """A GitLab with one project, in which merge requests can be opened."""

    web: Web

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def answer(self, asked: Asked) -> Reply:
        project = "/api/v4/projects/group%2Fsub%2Ftea"
        if asked.headers.get("private-token") != "glpat-s3cret":
            return Reply({"message": "401 Unauthorized"}, 401)
        if asked.path == project:
            return Reply({"default_branch": "trunk"})
        if asked.path != f"{project}/merge_requests":
            return Reply({"message": "404"}, 404)
        if asked.method == "GET":
            return Reply([row for row in self.rows if row["source_branch"] == asked.query["source_branch"]])
        row = {"iid": len(self.rows) + 1, "state": "opened", "web_url": f"{self.web.url}/mr/1", **asked.content}
        self.rows.append(row)
        return Reply(row, 201)


@pytest.mark.whole
def test_a_merge_request_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch)
    gitlab = GitLab()
    with serve(gitlab.answer) as web:
        gitlab.web = web
        checkout = checkout_at(tmp_path / "checkout", f"{web.url}/group/sub/tea.git")
        env = {"GITLAB_BASE_URL": web.url, "GITLAB_TOKEN": "glpat-s3cret"}
        value = opened(checkout, env, body="It was dry.", draft=True)
        assert (value["url"], value["number"], value["state"], value["created"]) == (f"{web.url}/mr/1", 1, "open", True)
        assert (value["forge"], value["repository"], value["base"]) == ("gitlab", "group/sub/tea", "trunk")
        assert opened(checkout, env) == value
        gitlab.rows[0]["state"] = "merged"
        assert opened(checkout, env) == {**value, "state": "merged"}
        gitlab.rows.append({**gitlab.rows[0], "iid": 9, "state": "opened", "description": None})
        assert opened(checkout, env)["number"] == 9
        gitlab.rows[-1]["state"] = "locked"
        assert opened(checkout, env)["number"] == 1, "one that is just being merged takes no more commits"
        code, message = refused(checkout, {"GITLAB_BASE_URL": web.url})
        assert (code, "`api`" in message) == ("service-config", True)
    (sent,) = posts(web)
    assert (sent["title"], sent["source_branch"], sent["target_branch"]) == ("Draft: Add tea", "tea", "trunk")


FLOW = "phases:\n- id: a\n  steps:\n  - {id: x, node: pr-open, params: {title: Add tea}}\n"
KILLER = """
import os, signal, sys
from handrail.steps.services.http import Service
real = Service.post
async def post(self, *given):
    if os.environ["WHEN"] == "after":
        await real(self, *given)
    os.kill(os.getpid(), signal.SIGKILL)
Service.post = post
from handrail.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.whole
@pytest.mark.parametrize("when", ["before", "after"])
def test_it_is_opened_once_if_handrail_is_killed_meanwhile(
    project: Project, github: GitHub, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    checkout_at(project.folder, f"{github.web.url}/{OWNER}/{NAME}.git")
    project.write(".handrail/flows/p.yaml", FLOW)
    for name, value in github.env().items():
        monkeypatch.setenv(name, value)
    argv, env = [sys.executable, "-c", KILLER, "run", "p"], {**os.environ, "WHEN": when}
    killed = subprocess.run(argv, cwd=project.folder, env=env, capture_output=True, timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    ended = project.json("resume", "last")
    value = ended["phases"][0]["steps"][0]["value"]
    assert (ended["status"], value["number"], value["created"]) == ("completed", 1, True)
    assert len(github.lists["pulls"]) == 1
    for root in (project.folder, project.home):
        assert not [path for path in root.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]


GUIDE = Path(__file__).parents[3] / "docs/guides/services.md"


@pytest.mark.whole
def test_the_flow_of_the_guide_from_a_branch_to_a_pull_request(
    project: Project, github: GitHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The remote is read at one address and pushed to at another, so that a folder can take the push."""
    block = GUIDE.read_text(encoding="utf-8").partition("```yaml\n")[2].partition("```")[0]
    project.write(".handrail/flows/propose-change.yaml", block)
    checkout = checkout_at(project.folder, f"{github.web.url}/{OWNER}/{NAME}.git")
    checkout.git("switch", "-q", "main")
    checkout.git("branch", "-q", "-D", "tea")
    bare = tmp_path / "bare.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)
    checkout.git("remote", "set-url", "--push", "origin", str(bare))
    checkout.write("tea.txt", "green\n")
    for name, value in github.env().items():
        monkeypatch.setenv(name, value)
    assert project.run("validate").out.startswith("no problems")
    values = {item["id"]: item["value"] for item in project.json("run", "propose-change")["phases"][0]["steps"]}
    assert values["branch"]["created"] is True
    assert values["push"]["commit"] == values["commit"]["commitHash"] == checkout.head
    assert (values["open"]["number"], values["open"]["head"]) == (1, "tea")
    assert (
        subprocess.run(["git", "show", "tea:tea.txt"], cwd=bare, capture_output=True, check=True).stdout == b"green\n"
    )
