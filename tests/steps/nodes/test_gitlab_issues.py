"""GitLab: an issue with its comments, and a comment that is written once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.driven.artifacts.schemas import builtin_schema, problems_of
from steps.nodes.steps import failed, step
from steps.services.web import Asked, Reply, Web, serve

TOKEN = "glpat-s3cretS3cret"
FILES = {"outputFile": "out.md", "outputJsonFile": "out.json"}
ISSUE = "/api/v4/projects/group%2Fsub%2Fproject/issues/12"
REQUEST = "/api/v4/projects/group%2Fsub%2Fproject/merge_requests/7"
ABOUT = {
    "title": "Wrong order",
    "description": "Keep *it*.",
    "state": "opened",
    "author": {"username": "ada"},
    "labels": ["bug"],
    "assignees": [{"username": "grace"}],
    "milestone": {"title": "1.0"},
    "created_at": "2026-01-01T00:00:00Z",
    "updated_at": "2026-01-02T00:00:00Z",
}


class Site:
    """A GitLab with notes below one issue and one merge request."""

    def __init__(self) -> None:
        self.notes: list[dict[str, Any]] = []
        self.fails_once = False

    def answer(self, asked: Asked) -> Reply:
        if asked.headers.get("private-token") != TOKEN:
            return Reply({"message": "401 Unauthorized"}, 401)
        if asked.path == ISSUE:
            return Reply(ABOUT)
        assert asked.path in (f"{ISSUE}/notes", f"{REQUEST}/notes")
        if asked.method == "GET":
            return Reply(self.notes)
        self.notes.append({"id": len(self.notes) + 1, **asked.content})
        if self.fails_once:
            self.fails_once = False
            return Reply({"message": "oops"}, 502)
        return Reply(self.notes[-1], 201)


def env(web: Web) -> dict[str, str]:
    return {"GITLAB_BASE_URL": web.url, "GITLAB_TOKEN": TOKEN}


@pytest.mark.parametrize("kind", ["issues", "work_items"])
def test_an_issue_and_its_comments(tmp_path: Path, kind: str) -> None:
    site = Site()
    site.notes = [
        {"id": 1, "body": "changed the label", "system": True, "author": {"username": "ada"}},
        {"id": 2, "body": "It is a set.", "author": {"username": "grace"}, "created_at": "2026-01-03T00:00:00Z"},
    ]
    with serve(site.answer) as web:
        url = f"{web.url}/group/sub/project/-/{kind}/12"
        value = step("gitlab-issue", {"issue": url, **FILES}, tmp_path, env(web))
    assert value == {
        **FILES,
        "issueUrl": url,
        "key": "project-12",
        "title": "Wrong order",
        "state": "open",
        "commentsCount": 1,
    }
    data = json.loads((tmp_path / "out.json").read_text())
    schema = builtin_schema("gitlab-issue/v1")
    assert schema is not None
    assert problems_of(schema, data) == []
    assert (data["issue"]["assignees"], data["issue"]["milestone"]) == (["grace"], "1.0")
    text = (tmp_path / "out.md").read_text()
    assert "# #12 Wrong order\n" in text
    assert "Keep *it*." in text
    assert "It is a set." in text
    assert "changed the label" not in text


def test_the_token_goes_to_the_configured_gitlab_only(tmp_path: Path) -> None:
    with serve(Site().answer) as web, serve(Site().answer) as other:
        params = {"issue": f"{other.url}/group/sub/project/-/issues/12", **FILES}
        error = failed("gitlab-issue", params, tmp_path, env(web))
        said = failed("gitlab-comment", {"issue": params["issue"], "text": "x"}, tmp_path, env(web))
        assert (error.code, said.code, other.asked) == ("service-host", "service-host", [])


@pytest.mark.parametrize("url", ["ABC-1", "{}/group/project/-/merge_requests/7", "{}/group/-/issues/x"])
def test_what_is_no_issue_is_refused(tmp_path: Path, url: str) -> None:
    with serve(Site().answer) as web:
        error = failed("gitlab-issue", {"issue": url.format(web.url), **FILES}, tmp_path, env(web))
    assert (error.code, "/-/issues/7" in error.message) == ("issue-reference", True)


@pytest.mark.parametrize("kind", ["issues/12", "merge_requests/7"])
def test_a_comment_is_written_once(tmp_path: Path, kind: str) -> None:
    site = Site()
    site.fails_once = True
    with serve(site.answer) as web:
        params = {"issue": f"{web.url}/group/sub/project/-/{kind}#note_9", "text": f"Done. {TOKEN}"}
        first = step("gitlab-comment", params, tmp_path, env(web))
        again = step("gitlab-comment", params, tmp_path, env(web))
        url = f"{web.url}/group/sub/project/-/{kind}#note_1"
    assert first == again == {"commentUrl": url, "commentId": "1"}
    assert len(site.notes) == 1
    body = site.notes[0]["body"]
    assert (body.startswith("Done. "), TOKEN in body, "<!-- handrail:" in body) == (True, False, True)


def test_a_blank_comment_is_refused(tmp_path: Path) -> None:
    with serve(Site().answer) as web:
        params = {"issue": f"{web.url}/group/sub/project/-/issues/12", "text": " \n"}
        assert failed("gitlab-comment", params, tmp_path, env(web)).code == "params"
