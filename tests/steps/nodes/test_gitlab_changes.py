"""`gitlab-checks` and `gitlab-reviews`, and the nodes that choose the forge by the address of a change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from steps.nodes.single import as_flow, refused, value
from steps.services.web import Asked, Reply, Web, serve
from support import Project

SHA, OLD = "a" * 40, "b" * 40
PUBLIC = "https://gitlab.com/group/tea/-/merge_requests/7"
PROJECT = "/api/v4/projects/group%2Ftea"
FILES = {"outputFile": "x.md", "outputJsonFile": "x.json"}
FOUND = {"reviewFile": "f.md", "reviewJsonFile": "f.json"}
OURS = "<!-- handrail:0123456789abcdef01234567 -->"


class Site:
    """A GitLab with one merge request. `statuses` and `notes` are what it lists."""

    web: Web

    def __init__(self) -> None:
        self.state = "opened"
        self.statuses: list[dict[str, Any]] = []
        self.discussions: list[dict[str, Any]] = []

    def answer(self, asked: Asked) -> Reply:
        path = asked.path.removeprefix(PROJECT)
        if path == "/merge_requests/7":
            return Reply({"iid": 7, "state": self.state, "sha": SHA, "source_branch": "order"})
        if path == f"/repository/commits/{SHA}/statuses":
            return Reply(self.statuses)
        if path == f"/repository/commits/{OLD}/statuses":
            return Reply([])
        if path == "/merge_requests/7/discussions":
            return Reply(self.discussions)
        if path == "/jobs/1/trace":
            return Reply(content=b"2026-01-01T00:00:00.000Z \x1b[31mone test failed\x1b[0m\n")
        return Reply({"message": "404 Not found"}, 404)

    @property
    def page(self) -> str:
        return f"{self.web.url}/group/tea/-/merge_requests/7"

    def say(self, id_: str, *bodies: str, at: int = 0, **more: Any) -> None:
        notes = [
            {
                "id": n,
                "body": body,
                "author": {"username": "ada"},
                "created_at": f"2026-01-01T00:00:{at + n:02d}.5Z",
                **more,
            }
            for n, body in enumerate(bodies)
        ]
        self.discussions.append({"id": id_, "notes": notes})


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    made = Site()
    with serve(made.answer) as web:
        made.web = web
        monkeypatch.setenv("GITLAB_BASE_URL", web.url)
        monkeypatch.setenv("GITLAB_TOKEN", "glpat-0123456789abcdef0123")
        yield made


def checks(project: Project, site: Site, **more: Any) -> dict[str, Any]:
    found = value(as_flow(project, "gitlab-checks", mergeRequestUrl=site.page, **FILES, **more))
    assert isinstance(found, dict)
    return found


def reviews(project: Project, site: Site, **more: Any) -> dict[str, Any]:
    found = value(as_flow(project, "gitlab-reviews", mergeRequestUrl=site.page, **FILES, **FOUND, **more))
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("results", "state"),
    [
        ([], "none"),
        (["success", "skipped", "manual"], "passed"),
        (["success", "running"], "pending"),
        (["created", "waiting_for_resource"], "pending"),
        (["running", "failed"], "failed"),
        (["canceled"], "failed"),
    ],
)
def test_the_state_of_the_checks(project: Project, site: Site, results: list[str], state: str) -> None:
    site.statuses = [{"id": 2, "name": f"job {n}", "status": result} for n, result in enumerate(results)]
    assert checks(project, site)["state"] == state


def test_a_failed_job_has_the_end_of_its_log(project: Project, site: Site) -> None:
    site.statuses = [
        {"id": 1, "name": "tests", "status": "failed", "target_url": "https://ci.example.com/1"},
        {"id": 2, "name": "deploy", "status": "failed", "description": "no room"},
        {"id": 3, "name": "lint", "status": "failed", "allow_failure": True},
    ]
    found = checks(project, site)
    assert (found["failed"], found["passedCount"], found["isHead"]) == (["tests", "deploy"], 1, True)
    assert (found["branch"], found["mergeRequestState"], found["commit"]) == ("order", "open", SHA)
    told = [check["text"] for check in json.loads((project.folder / "x.json").read_text())["checks"]]
    assert told[0] == "one test failed"
    assert told[1].startswith("no room\n\nThe log cannot be fetched: ")
    assert told[2] == ""
    assert "one test failed" in (project.folder / "x.md").read_text()


def test_the_checks_of_another_commit(project: Project, site: Site) -> None:
    site.statuses = [{"id": 1, "name": "tests", "status": "failed"}]
    found = checks(project, site, commit=OLD)
    assert (found["state"], found["isHead"], found["commit"]) == ("none", False, OLD)
    assert refused(project, "gitlab-checks", mergeRequestUrl=PUBLIC, **FILES, commit="abc")[0] == "params"


def test_a_merged_change_says_so(project: Project, site: Site) -> None:
    site.state = "merged"
    assert checks(project, site)["mergeRequestState"] == "merged"


def test_an_open_discussion_is_one_finding(project: Project, site: Site) -> None:
    site.say("d1", "Why?", "Because.", resolvable=True, resolved=False)
    site.say("d2", "Done?", resolvable=True, resolved=True)
    site.say("d3", f"I did it.\n\n{OURS}", at=8)
    found = reviews(project, site)
    assert (found["findingsCount"], found["openCount"], found["readyToMerge"]) == (1, 1, False)
    assert (found["commentsCount"], found["lastAt"]) == (4, "2026-01-01T00:00:08.500000Z")
    (finding,) = json.loads((project.folder / "f.json").read_text())["findings"]
    assert "Why?" in finding["description"]
    assert "ada replied at" in finding["description"]


def test_only_what_was_said_later_counts(project: Project, site: Site) -> None:
    site.say("d1", "Why?")
    before = reviews(project, site)
    assert before["findingsCount"] == 1
    assert reviews(project, site, after=before["lastAt"])["findingsCount"] == 0
    site.say("d2", "And this?", at=1)
    assert reviews(project, site, after=before["lastAt"])["findingsCount"] == 1


def test_nobody_said_anything(project: Project, site: Site) -> None:
    found = reviews(project, site)
    assert (found["findingsCount"], found["readyToMerge"], found["lastAt"]) == (0, True, "")


def test_the_address_of_a_change_chooses_the_forge(project: Project, site: Site) -> None:
    site.say("d1", "Why?")
    found = value(as_flow(project, "change-checks", change=site.page, **FILES))
    assert (found["forge"], found["url"], found["changeState"], found["state"]) == ("gitlab", site.page, "open", "none")
    said = value(as_flow(project, "change-reviews", change=site.page, **FILES, **FOUND))
    assert (said["forge"], said["openCount"], said["reviewJsonFile"]) == ("gitlab", 1, "f.json")


def test_every_other_address_is_one_of_github(project: Project, site: Site) -> None:
    assert "GITHUB_TOKEN" in refused(project, "change-checks", change="octo/tea#7", **FILES)[1]


def test_the_files_have_to_be_different(project: Project, site: Site) -> None:
    same = {**FILES, "reviewFile": "x.md"}
    assert refused(project, "gitlab-reviews", mergeRequestUrl=PUBLIC, **same)[0] == "params"
