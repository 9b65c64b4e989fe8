"""GitHub: an issue, the changes, reviews and checks of a pull request, and a comment that is written once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.driven.artifacts.schemas import builtin_schema, problems_of
from steps.nodes.steps import failed, files_in, step
from steps.services.githubs import NAME, OWNER, SHA, TOKEN, GitHub
from steps.services.web import Asked, Reply, serve

FILES = {"outputFile": "o.md", "outputJsonFile": "o.json"}
FINDINGS = {"reviewFile": "r.md", "reviewJsonFile": "r.json"}
USER = {"login": "ada", "type": "User"}
AT = "2026-01-0{}T00:00:00Z"


@pytest.fixture
def github() -> Iterator[GitHub]:
    made = GitHub()
    with serve(made.answer) as web:
        made.web = web
        yield made


def valid(path: Path, schema: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    shipped = builtin_schema(schema)
    assert shipped is not None
    assert problems_of(shipped, data) == []
    return data


def add_pull(github: GitHub, **more: Any) -> str:
    github.objects["pulls/7"] = {
        **github.pull(7, "fast", "main"),
        "title": "Faster",
        "body": "Why: *slow*",
        "user": USER,
        "draft": True,
        "created_at": AT.format(1),
        "updated_at": AT.format(2),
        **more,
    }
    return github.page("pull", 7)


def comment(id_: int, body: str | None, day: int = 1, **more: Any) -> dict[str, Any]:
    return {"id": id_, "body": body, "user": USER, "created_at": AT.format(day), **more}


@pytest.mark.parametrize("reference", ["page", "short", "pull"])
def test_an_issue_with_its_comments(tmp_path: Path, github: GitHub, reference: str) -> None:
    github.page_size = 2
    github.objects["issues/12"] = {
        "title": "No tea",
        "body": None,
        "state": "open",
        "user": None,
        "labels": [{"name": "bug"}, "old", {"name": None}, 3],
        "assignees": [USER],
        "milestone": {"title": "v1"},
        "created_at": AT.format(1),
        "updated_at": AT.format(2),
    }
    github.lists["issues/12/comments"] = [comment(number, f"said {number}") for number in range(1, 6)]
    named = {"page": f"{github.page('issues', 12)}#x", "short": f"{OWNER}/{NAME}#12", "pull": github.page("pull", 12)}
    value = step("github-issue", {"issue": named[reference], **FILES}, tmp_path, github.env())
    assert value == {
        **FILES,
        "issueUrl": github.page("issues", 12),
        "key": "tea-12",
        "title": "No tea",
        "state": "open",
        "commentsCount": 5,
    }
    data = valid(tmp_path / "o.json", "github-issue/v1")
    assert (data["issue"]["labels"], data["issue"]["author"], data["issue"]["milestone"]) == (
        ["bug", "old"],
        "unknown",
        "v1",
    )
    assert [item["body"] for item in data["comments"]] == [f"said {number}" for number in range(1, 6)]
    text = (tmp_path / "o.md").read_text(encoding="utf-8")
    assert text.startswith("# #12 No tea\n\n- Issue: http://")
    assert "There is no description." in text
    assert "## Comment 5: ada, 2026-01-01T00:00:00Z\n\nsaid 5\n" in text


def test_the_changes_of_a_pull_request(tmp_path: Path, github: GitHub) -> None:
    url = add_pull(github)
    github.lists["pulls/7/files"] = [
        {"filename": "a.py", "status": "modified", "patch": "@@ -1 +1 @@\n-1\n+```", "additions": 1, "deletions": 1},
        {"filename": "c", "previous_filename": "b", "status": "renamed", "changes": 0},
        {"filename": "d.png", "status": "added", "changes": 0},
        {"filename": "e", "status": "removed", "patch": "-x"},
        "odd",
    ]
    diff = b"diff --git a/a.py b/a.py\n"
    plain = github.objects["pulls/7"]
    wants = "application/vnd.github.diff"
    github.special["GET pulls/7"] = lambda asked: Reply(diff if asked.headers["accept"] == wants else plain)
    params = {"pullRequestUrl": f"{url}/files", **FILES, "diffFile": "d.diff"}
    value = step("github-pr-diff", params, tmp_path, github.env())
    assert value == {**FILES, "diffFile": "d.diff", "pullRequestUrl": url, "filesCount": 4, "commit": SHA}
    assert (tmp_path / "d.diff").read_bytes() == diff
    data = valid(tmp_path / "o.json", "github-pr-diff/v1")
    assert [(file["new_path"], file["change_type"]) for file in data["files"]] == [
        ("a.py", "modified"),
        ("c", "renamed"),
        ("d.png", "added"),
        ("e", "deleted"),
    ]
    assert data["pull_request"]["source_branch"] == "fast"
    text = (tmp_path / "o.md").read_text(encoding="utf-8")
    assert "## a.py: modified\n\n````diff\n@@ -1 +1 @@\n-1\n+```\n````\n" in text
    assert "## c: renamed (from b)\n\n```diff\nThe content is the same.\n" in text
    assert "it is too large, or not text" in text


def reviewed(github: GitHub) -> str:
    url = add_pull(github)

    def review(id_: int, login: str, state: str, body: str, day: int) -> dict[str, Any]:
        who = {"login": login}
        return {"id": id_, "user": who, "state": state, "body": body, "submitted_at": AT.format(day), "commit_id": SHA}

    github.lists["pulls/7/reviews"] = [
        review(1, "bob", "CHANGES_REQUESTED", "No.", 1),
        review(2, "bob", "APPROVED", "Yes.", 3),
        review(3, "eve", "CHANGES_REQUESTED", "", 2),
        review(4, "dan", "COMMENTED", "", 2),
        review(5, "me", "PENDING", "draft", 2),
    ]
    github.lists["pulls/7/comments"] = [
        comment(10, "Wrong", path="a.py", line=4, side="RIGHT", pull_request_review_id=3),
        comment(11, "Why?", 2, path="a.py", line=4, in_reply_to_id=10),
        comment(12, "Gone", path="b.py", line=None, original_line=9, side="RIGHT"),
        comment(13, "Left", path="c.py", line=2, side="LEFT"),
        comment(14, None, path="c.py", line=2),
    ]
    github.lists["issues/7/comments"] = [
        comment(20, "Nice"),
        comment(21, "Coverage: 80 %", user={"login": "codecov[bot]", "type": "Bot"}),
        comment(22, "Done.\n\n<!-- handrail:0123456789abcdef01234567 -->"),
        comment(10, "the same id as a comment on a line", 4),
    ]
    return url


def test_reviews_and_comments_become_findings(tmp_path: Path, github: GitHub) -> None:
    url = reviewed(github)
    value = step("github-reviews", {"pullRequestUrl": url, **FILES, **FINDINGS}, tmp_path, github.env())
    counts = {"reviewsCount": 4, "commentsCount": 8, "findingsCount": 9, "openCount": 6, "readyToMerge": False}
    assert value == {**FILES, **FINDINGS, "pullRequestUrl": url, **counts, "lastAt": AT.format(4)}
    data = valid(tmp_path / "o.json", "github-review/v1")
    assert [(review["id"], review["is_current"]) for review in data["reviews"]] == [
        ("1", False), ("2", True), ("3", True), ("4", False),
    ]  # fmt: skip
    found = valid(tmp_path / "r.json", "review-findings/v1")
    listed = {item["title"].split(" | ", 1)[1]: item for item in found["findings"]}
    assert {title: item["severity"] for title, item in listed.items()} == {
        "general | bob | No.": "info",
        "general | bob | Yes.": "info",
        "general | eve | Changes are requested; see the comments.": "high",
        "a.py:4 | ada | Wrong ada replied at 2026-01-02T00:00:00Z: Why?": "medium",
        "b.py:9 | ada | Gone": "low",
        "c.py:2 | ada | Left": "medium",
        "general | ada | Nice": "medium",
        "general | codecov[bot] | Coverage: 80 %": "info",
        "general | ada | the same id as a comment on a line": "medium",
    }
    assert "Wrong\n\nada replied at 2026-01-02T00:00:00Z:\n\nWhy?" in (tmp_path / "r.md").read_text(encoding="utf-8")
    assert "Note: the code has changed since\n" in listed["b.py:9 | ada | Gone"]["description"]


def test_only_what_was_said_later_is_a_finding(tmp_path: Path, github: GitHub) -> None:
    url = reviewed(github)
    params = {"pullRequestUrl": url, **FILES, **FINDINGS, "after": "2026-01-01T03:00:00+03:00"}
    assert step("github-reviews", params, tmp_path, github.env())["findingsCount"] == 4
    params["after"] = AT.format(4)
    value = step("github-reviews", params, tmp_path, github.env())
    assert (value["findingsCount"], value["readyToMerge"]) == (0, False)
    assert failed("github-reviews", {**params, "after": "yesterday"}, tmp_path, github.env()).code == "params"
    del github.lists["issues/7/comments"][0]["created_at"]
    value = step("github-reviews", params, tmp_path, github.env())
    assert value["findingsCount"] == 1, "when it was said is not known, so it may be later"


def test_nobody_has_said_anything(tmp_path: Path, github: GitHub) -> None:
    url = add_pull(github)
    for path in ("pulls/7/reviews", "pulls/7/comments", "issues/7/comments"):
        github.lists[path] = []
    value = step("github-reviews", {"pullRequestUrl": url, **FILES}, tmp_path, github.env())
    assert (value["findingsCount"], value["readyToMerge"], value["lastAt"]) == (0, True, "")
    assert value["reviewFile"] is None
    assert files_in(tmp_path) == ["o.json", "o.md"]


def check_run(id_: int, conclusion: str | None, status: str = "completed", **more: Any) -> dict[str, Any]:
    return {"id": id_, "name": f"check {id_}", "status": status, "conclusion": conclusion, **more}


def checked(github: GitHub, runs: list[Any], statuses: list[Any] | None = None, commit: str = SHA) -> str:
    url = add_pull(github)
    github.lists[f"commits/{commit}/check-runs"] = runs
    github.lists[f"commits/{commit}/status"] = statuses or []
    return url


def test_the_checks_of_a_pull_request(tmp_path: Path, github: GitHub) -> None:
    github.page_size = 3
    runs = [
        check_run(1, "success"),
        check_run(2, "skipped"),
        check_run(3, "failure", output={"title": "2 failed", "summary": "see", "annotations_count": 1}),
        check_run(4, None, "in_progress"),
        check_run(
            5, "timed_out", app={"slug": "github-actions"}, output={"annotations_count": 0}, html_url="http://x/5"
        ),
    ]
    statuses = [
        {"context": "ci/old", "state": "error", "description": "broke", "target_url": "http://x/y"},
        {"context": "ci/ok", "state": "success"},
    ]
    url = checked(github, runs, statuses)
    github.lists["check-runs/3/annotations"] = [
        {"path": "a.py", "start_line": 4, "annotation_level": "failure", "message": "boom"}
    ]
    log = "2026-01-01T00:00:00.1234567Z \x1b[31mFAILED\x1b[0m test_tea\r\n2026-01-01T00:00:00.1Z ##[error]exit 1\n"
    github.special["GET actions/jobs/5/logs"] = lambda _: Reply(log.encode())
    value = step("github-checks", {"pullRequestUrl": url, **FILES}, tmp_path, github.env())
    assert value == {
        **FILES,
        "pullRequestUrl": url,
        "commit": SHA,
        "pullRequestState": "open",
        "branch": "fast",
        "isHead": True,
        "state": "failed",
        "failed": ["check 3", "check 5", "ci/old"],
        "pending": ["check 4"],
        "passedCount": 3,
    }
    data = valid(tmp_path / "o.json", "github-checks/v1")
    texts = {check["name"]: check["text"] for check in data["checks"]}
    assert texts["check 3"] == "2 failed\n\nsee\n\na.py:4: failure: boom"
    assert texts["check 5"] == "FAILED test_tea\n##[error]exit 1"
    assert texts["ci/old"] == "broke"
    text = (tmp_path / "o.md").read_text(encoding="utf-8")
    assert "## check 5\n\n- State: failed (timed_out)\n- Page: http://x/5\n\n```\nFAILED test_tea\n" in text


@pytest.mark.parametrize(
    ("runs", "statuses", "state"),
    [
        ([], [], "none"),
        ([check_run(1, "neutral")], [], "passed"),
        ([check_run(1, "success"), check_run(2, None, "queued")], [], "pending"),
        ([check_run(1, "success")], [{"context": "x", "state": "pending"}], "pending"),
        ([check_run(1, None, "queued")], [{"context": "x", "state": "failure"}], "failed"),
    ],
)
def test_the_state_of_all_checks(tmp_path: Path, github: GitHub, runs: Any, statuses: Any, state: str) -> None:
    url = checked(github, runs, statuses)
    assert step("github-checks", {"pullRequestUrl": url, **FILES}, tmp_path, github.env())["state"] == state


def test_the_checks_of_another_commit(tmp_path: Path, github: GitHub) -> None:
    commit = "b" * 40
    url = checked(github, [check_run(1, "success")], commit=commit)
    params = {"pullRequestUrl": url, **FILES, "commit": commit}
    value = step("github-checks", params, tmp_path, github.env())
    assert (value["commit"], value["isHead"], value["state"]) == (commit, False, "passed")
    for wrong in ("main", "../../x", "b" * 39):
        assert failed("github-checks", {**params, "commit": wrong}, tmp_path, github.env()).code == "params"


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (Reply({"message": "Not Found"}, 404), "The log cannot be fetched: GitHub: it answers with 404"),
        (Reply({"message": "Gone"}, 410), "The log cannot be fetched: GitHub: it answers with 410"),
        (Reply({"message": "no"}, 403), "The log cannot be fetched: GitHub: it answers with 403"),
        (Reply(b"x" * 100_000), "… 88000 characters before this were left out\nxxx"),
    ],
)
def test_a_log_that_is_missing_or_long(tmp_path: Path, github: GitHub, reply: Reply, says: str) -> None:
    url = checked(github, [check_run(5, "failure", app={"slug": "github-actions"}, output={"annotations_count": 0})])
    github.special["GET actions/jobs/5/logs"] = lambda _: reply
    step("github-checks", {"pullRequestUrl": url, **FILES}, tmp_path, github.env())
    (check,) = valid(tmp_path / "o.json", "github-checks/v1")["checks"]
    assert check["text"].startswith(says)
    assert len(check["text"]) < 20_100


def test_a_log_on_another_host_is_fetched_without_the_token(tmp_path: Path, github: GitHub) -> None:
    url = checked(github, [check_run(5, "failure", app={"slug": "github-actions"}, output={"annotations_count": 0})])
    with serve(lambda _: Reply(b"from elsewhere")) as other:
        at = {"Location": f"{other.url}/log?signature=1"}
        github.special["GET actions/jobs/5/logs"] = lambda _: Reply("", 302, at)
        step("github-checks", {"pullRequestUrl": url, **FILES}, tmp_path, github.env())
    assert "authorization" not in other.asked[0].headers
    assert valid(tmp_path / "o.json", "github-checks/v1")["checks"][0]["text"] == "from elsewhere"


def test_many_failed_checks_do_not_all_have_a_text(tmp_path: Path, github: GitHub) -> None:
    url = checked(
        github, [check_run(n, "failure", output={"title": "t" * 9000, "annotations_count": 0}) for n in range(1, 31)]
    )
    step("github-checks", {"pullRequestUrl": url, **FILES}, tmp_path, github.env())
    texts = [check["text"] for check in valid(tmp_path / "o.json", "github-checks/v1")["checks"]]
    assert [len(text) for text in texts[:20]] == [4001] * 20
    assert set(texts[20:]) == {"The texts of more than 20 failed checks are not fetched."}


def test_a_comment_is_written_once(tmp_path: Path, github: GitHub) -> None:
    github.lists["issues/7/comments"] = [comment(1, "by a person")]
    params = {"issue": github.page("pull", 7), "text": f"Fixed in `abc`. {TOKEN}"}
    first = step("github-comment", params, tmp_path, github.env())
    assert step("github-comment", params, tmp_path, github.env()) == first
    assert [asked.method for asked in github.web.asked] == ["GET", "POST", "GET"]
    body = github.lists["issues/7/comments"][1]["body"]
    assert body.startswith("Fixed in `abc`. [hidden]\n\n<!-- handrail:")


BROKEN = Reply(b"", headers={"Content-Length": "10"}, write=lambda out: out.write(b"{"))


@pytest.mark.parametrize("reply", [BROKEN, Reply({}, 201)], ids=["broken", "empty"])
def test_a_comment_whose_answer_is_lost_is_not_written_again(tmp_path: Path, github: GitHub, reply: Reply) -> None:
    """GitHub takes the comment, but its answer is not a comment, or the connection breaks before it."""
    github.lists["issues/7/comments"] = []

    def taken(asked: Asked) -> Reply:
        github._commented("issues/7/comments", asked.content)
        return reply

    github.special["POST issues/7/comments"] = taken
    value = step("github-comment", {"issue": f"{OWNER}/{NAME}#7", "text": "Hi"}, tmp_path, github.env())
    assert value["commentId"] == "1"
    assert [asked.method for asked in github.web.asked] == ["GET", "POST", "GET"]


def test_a_blank_comment(tmp_path: Path, github: GitHub) -> None:
    assert (
        failed("github-comment", {"issue": f"{OWNER}/{NAME}#7", "text": " "}, tmp_path, github.env()).code == "params"
    )


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("7", "pull-request-reference"),
        ("octo/tea", "pull-request-reference"),
        ("octo/..#7", "pull-request-reference"),
        ("{web}/octo/tea/issues/7", "pull-request-reference"),
        ("{web}/octo/tea/pull/x", "pull-request-reference"),
        ("{web}/octo/tea/tree/pull/7", "pull-request-reference"),
        ("ftp://x/octo/tea/pull/7", "pull-request-reference"),
        ("https://[::1/octo/tea/pull/7", "pull-request-reference"),
        ("https://github.com/octo/tea/pull/7", "service-host"),
    ],
)
def test_what_is_no_pull_request_here(tmp_path: Path, github: GitHub, reference: str, code: str) -> None:
    params = {"pullRequestUrl": reference.format(web=github.web.url), **FILES}
    for node in ("github-pr-diff", "github-reviews", "github-checks"):
        error = failed(node, params, tmp_path, github.env())
        assert error.code == code
        assert TOKEN not in error.message
    assert github.web.asked == []


@pytest.mark.parametrize(
    ("change", "code", "word"),
    [
        ({"GITHUB_TOKEN": " "}, "service-config", "GITHUB_TOKEN"),
        ({"GITHUB_TOKEN": "to ken"}, "service-config", "GITHUB_TOKEN"),
        ({"GITHUB_API_URL": "github"}, "service-address", "GITHUB_API_URL"),
        ({"GITHUB_API_URL": "https://a:b@host/api/v3"}, "service-address", "GITHUB_API_URL"),
    ],
)
def test_variables_that_are_missing_or_wrong(
    tmp_path: Path, github: GitHub, change: dict[str, str], code: str, word: str
) -> None:
    error = failed("github-issue", {"issue": "octo/tea#7", **FILES}, tmp_path, github.env(**change))
    assert (error.code, word in error.message, github.web.asked) == (code, True, [])


def test_the_other_name_of_the_token(tmp_path: Path, github: GitHub) -> None:
    github.objects["issues/7"], github.lists["issues/7/comments"] = {"title": "x"}, []
    env = github.env(GITHUB_TOKEN="", GH_TOKEN=TOKEN)
    assert step("github-issue", {"issue": "octo/tea#7", **FILES}, tmp_path, env)["title"] == "x"


@pytest.mark.parametrize(("status", "code"), [(401, "service-login"), (404, "service-missing")])
def test_an_issue_that_may_not_be_seen(tmp_path: Path, github: GitHub, status: int, code: str) -> None:
    env = github.env(GITHUB_TOKEN="another") if status == 401 else github.env()
    error = failed("github-issue", {"issue": "octo/tea#99", **FILES}, tmp_path, env)
    assert (error.code, files_in(tmp_path)) == (code, [])
    assert "GITHUB_TOKEN" in error.message


@pytest.mark.parametrize("path", ["../o.json", "o.md"])
def test_files_that_cannot_be_written(tmp_path: Path, github: GitHub, path: str) -> None:
    params = {"issue": "octo/tea#7", "outputFile": "o.md", "outputJsonFile": path}
    error = failed("github-issue", params, tmp_path, github.env())
    assert (error.code, github.web.asked) == ("path-escape" if ".." in path else "params", [])
