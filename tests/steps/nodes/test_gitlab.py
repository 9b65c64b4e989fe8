"""GitLab: changes and comments of a merge request, and where the token goes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handrail.driven.artifacts.schemas import builtin_schema, problems_of
from steps.nodes.steps import failed, files_in, step
from steps.services.web import Asked, Reply, Web, serve
from support import Project

TOKEN = "gitlab-s3cret"
FILES = {"outputFile": "s/out.md", "outputJsonFile": "s/.artifacts/out.json"}
DETAILS = {
    "title": "Faster",
    "description": "Why: *slow*",
    "state": "opened",
    "draft": True,
    "source_branch": "fast",
    "target_branch": "main",
    "sha": "abc123",
    "author": {"username": "ada"},
    "created_at": "2026-01-01T00:00:00Z",
    "updated_at": "2026-01-02T00:00:00Z",
}
PROJECT = "/api/v4/projects/group%2Fsub%2Fproject/merge_requests/7"


def env(web: Web, **more: str) -> dict[str, str]:
    return {"GITLAB_BASE_URL": web.url, "GITLAB_TOKEN": TOKEN, **more}


def params(web: Web, tail: str = "/diffs?tab=1") -> dict[str, str]:
    return {"mergeRequestUrl": f"{web.url}/group/sub/project/-/merge_requests/7{tail}", **FILES}


def site(rows: list[Any], details: Any = None) -> Callable[[Asked], Reply]:
    """A GitLab with one merge request whose list has these rows, in pages."""

    def answer(asked: Asked) -> Reply:
        if asked.path == PROJECT:
            return Reply(DETAILS if details is None else details)
        assert asked.path in (f"{PROJECT}/diffs", f"{PROJECT}/discussions")
        number, size = int(asked.query["page"]), int(asked.query["per_page"])
        following = str(number + 1) if number * size < len(rows) else ""
        return Reply(rows[(number - 1) * size : number * size], headers={"X-Next-Page": following})

    return answer


def written(folder: Path, schema: str) -> tuple[dict[str, Any], str]:
    text = (folder / FILES["outputJsonFile"]).read_text(encoding="utf-8")
    assert text.endswith("}\n")
    data: dict[str, Any] = json.loads(text)
    shipped = builtin_schema(schema)
    assert shipped is not None
    assert problems_of(shipped, data) == []
    return data, (folder / FILES["outputFile"]).read_text(encoding="utf-8")


def test_the_changes_of_a_merge_request(tmp_path: Path) -> None:
    rows = [
        {"old_path": "a.py", "new_path": "a.py", "diff": "-1\n+```\n"},
        {"old_path": "b", "new_path": "c", "renamed_file": True, "diff": ""},
        {"old_path": "d", "new_path": "d", "new_file": True, "diff": "", "too_large": True},
        {"old_path": "e", "new_path": "e", "deleted_file": True, "diff": "", "collapsed": True},
        {"diff": None, "generated_file": True},
        "odd",
    ]
    with serve(site(rows)) as web:
        value = step("fetch-gitlab-diff", params(web), tmp_path, env(web))
    assert value == {**params(web), "filesCount": 5}
    data, text = written(tmp_path, "gitlab-mr-diff/v1")
    assert (data["project_path"], data["merge_request_iid"]) == ("group/sub/project", 7)
    assert data["summary"] == "!7 Faster: 5 changed files"
    assert data["merge_request"] == {**DETAILS, "author": "ada"}
    assert [(file["new_path"], file["change_type"], file["diff"]) for file in data["files"]] == [
        ("a.py", "modified", "-1\n+```\n"),
        ("c", "renamed", "The diff is empty."),
        ("d", "added", "GitLab does not show this diff: it is too large."),
        ("e", "deleted", "GitLab does not show this diff: it is collapsed."),
        ("unknown", "modified", "The diff is empty."),
    ]
    assert text.startswith("# !7 Faster\n\n- Merge request: http://")
    assert "## a.py: modified\n\n````diff\n-1\n+```\n````\n" in text
    assert "## c: renamed (from b)\n" in text
    assert all(asked.headers["private-token"] == TOKEN for asked in web.asked)


def test_many_changes_come_in_pages(tmp_path: Path) -> None:
    rows = [{"old_path": f"f{n}", "new_path": f"f{n}", "diff": "+"} for n in range(250)]
    with serve(site(rows)) as web:
        assert step("fetch-gitlab-diff", params(web), tmp_path, env(web))["filesCount"] == 250
    assert [asked.query.get("page") for asked in web.asked] == [None, "1", "2", "3"]


def test_a_merge_request_without_changes_and_words(tmp_path: Path) -> None:
    with serve(site([], {"title": " ", "author": None})) as web:
        step("fetch-gitlab-diff", params(web), tmp_path, env(web))
    data, text = written(tmp_path, "gitlab-mr-diff/v1")
    assert data["merge_request"]["title"] == "MR !7"
    assert {data["merge_request"][name] for name in ("state", "sha", "author", "created_at")} == {"unknown"}
    assert text.endswith("\n\nNo changes were found.\n")


def note(id_: int, body: Any, **more: Any) -> dict[str, Any]:
    return {"id": id_, "body": body, "author": {"username": "ada"}, "created_at": "2026-01-01T00:00:00Z", **more}


ROWS = [
    {"id": "d1", "notes": [note(1, "Why?\nTell me.", resolvable=True), note(2, "added 1 commit", system=True)]},
    {
        "id": "d2",
        "notes": [
            note(3, "Wrong", resolvable=True, resolved=True, position={"new_path": "a.py", "new_line": 4}),
            note(4, "Old", position={"old_path": "b.py", "old_line": 9}, author={"name": "Bob"}),
            note(5, "File", position={"new_path": "c.py", "new_line": None}, author={}),
            note(6, "  \n"),
            note(7, None),
        ],
    },
    {"id": "d3", "notes": None},
    None,
]


def test_the_comments_of_a_merge_request(tmp_path: Path) -> None:
    with serve(site(ROWS)) as web:
        value = step("fetch-gitlab-review", params(web, "#note_1"), tmp_path, env(web))
    assert value == {**params(web, "#note_1"), "commentsCount": 4}
    data, text = written(tmp_path, "gitlab-review/v1")
    names = ("id", "discussion_id", "author", "file_path", "new_line", "old_line", "resolvable", "resolved")
    assert [tuple(comment[name] for name in names) for comment in data["comments"]] == [
        ("1", "d1", "ada", None, None, None, True, False),
        ("3", "d2", "ada", "a.py", 4, None, True, True),
        ("4", "d2", "Bob", "b.py", None, 9, False, False),
        ("5", "d2", "unknown", "c.py", None, None, False, False),
    ]
    assert "## 1. general\n\n- Author: ada\n" in text
    assert "## 2. a.py:4\n" in text
    assert "Why?\nTell me." in text


def test_no_comments(tmp_path: Path) -> None:
    with serve(site([])) as web:
        step("fetch-gitlab-review", params(web), tmp_path, env(web))
    assert written(tmp_path, "gitlab-review/v1")[1].endswith("No comments were found.\n")


def findings(**change: str) -> dict[str, str]:
    return {"gitlabReviewJsonFile": FILES["outputJsonFile"], "reviewFile": "r.md", "reviewJsonFile": "r.json", **change}


def test_comments_become_findings(tmp_path: Path) -> None:
    long = "word " * 40
    with serve(site([*ROWS, {"id": "d4", "notes": [note(8, long)]}])) as web:
        step("fetch-gitlab-review", params(web), tmp_path, env(web))
    assert step("gitlab-review-artifacts", findings(), tmp_path) == {"findingsCount": 5, "readyToMerge": False}
    found = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    shipped = builtin_schema("review-findings/v1")
    assert shipped is not None
    assert problems_of(shipped, found) == []
    assert found["ready_to_merge"] is False
    titles = [item["title"] for item in found["findings"]]
    assert titles[:2] == ["GitLab comment 1 | general | ada | Why? Tell me.", "GitLab comment 2 | a.py:4 | ada | Wrong"]
    assert titles[4] == f"GitLab comment 5 | general | ada | {('word ' * 40)[:69]}..."
    assert {item["severity"] for item in found["findings"]} == {"medium"}
    assert "Discussion: d1\n" in found["findings"][0]["description"]
    assert "Why?\nTell me." in (tmp_path / "r.md").read_text(encoding="utf-8")


def test_no_comments_are_no_findings(tmp_path: Path) -> None:
    with serve(site([])) as web:
        step("fetch-gitlab-review", params(web), tmp_path, env(web))
    assert step("gitlab-review-artifacts", findings(), tmp_path) == {"findingsCount": 0, "readyToMerge": True}


@pytest.mark.parametrize(
    ("content", "change", "code"),
    [
        (None, {}, "inputs-missing"),
        ("{", {}, "inputs-invalid"),
        ('{"comments": []}', {}, "inputs-invalid"),
        ("{}", {"reviewFile": "../r.md"}, "path-escape"),
        ("{}", {"reviewFile": "r.json"}, "params"),
        ("{}", {"reviewJsonFile": FILES["outputJsonFile"]}, "params"),
    ],
)
def test_findings_from_a_wrong_file(tmp_path: Path, content: str | None, change: dict[str, str], code: str) -> None:
    if content is not None:
        (tmp_path / "s/.artifacts").mkdir(parents=True)
        (tmp_path / FILES["outputJsonFile"]).write_text(content)
    before = files_in(tmp_path)
    assert failed("gitlab-review-artifacts", findings(**change), tmp_path).code == code
    assert files_in(tmp_path) == before


NODES = ["fetch-gitlab-diff", "fetch-gitlab-review"]


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize(
    ("variables", "url", "code", "word"),
    [
        ({}, "https://git.evil.example/a/b/-/merge_requests/1", "service-host", "set GITLAB_BASE_URL to https://git"),
        ({}, "http://gitlab.com/a/b/-/merge_requests/1", "service-host", "`http://gitlab.com`"),
        (
            {"GITLAB_HOST": "git.example"},
            "https://gitlab.com/a/b/-/merge_requests/1",
            "service-host",
            "`https://git.example`",
        ),
        ({"GITLAB_BASE_URL": "git"}, "http://git/a/b/-/merge_requests/1", "service-host", "sent to `https://git`"),
        ({"GITLAB_BASE_URL": "ftp://git"}, "http://git/a/b/-/merge_requests/1", "service-address", "GITLAB_BASE_URL"),
        ({}, "https://gitlab.com/a/-/merge_requests/1", "merge-request-reference", "GROUP/PROJECT"),
        ({}, "https://gitlab.com/a/b/-/issues/1", "merge-request-reference", "GROUP/PROJECT"),
        ({}, "https://[/a/b/-/merge_requests/1", "merge-request-reference", "GROUP/PROJECT"),
        ({}, "file:///a/b/-/merge_requests/1", "merge-request-reference", "GROUP/PROJECT"),
        ({"GITLAB_TOKEN": ""}, "https://gitlab.com/a/b/-/merge_requests/1", "service-config", "GITLAB_TOKEN"),
        ({"GITLAB_TOKEN": "a\nb"}, "https://gitlab.com/a/b/-/merge_requests/1", "service-config", "GITLAB_TOKEN"),
    ],
)
def test_a_token_is_sent_to_the_configured_host_only(
    tmp_path: Path, node: str, variables: dict[str, str], url: str, code: str, word: str
) -> None:
    error = failed(node, {"mergeRequestUrl": url, **FILES}, tmp_path, {"GITLAB_TOKEN": TOKEN, **variables})
    assert (error.code, error.transient, files_in(tmp_path)) == (code, False, [])
    assert word in error.message


def test_a_gitlab_below_a_path_and_an_old_address(tmp_path: Path) -> None:
    def answer(asked: Asked) -> Reply:
        return site([])(asked._replace(path=asked.path.removeprefix("/git")))

    with serve(answer) as web:
        base = {"GITLAB_BASE_URL": f"{web.url}/git/", "GITLAB_TOKEN": TOKEN}
        url = f"{web.url}/git/group/sub/project/merge_requests/7"
        step("fetch-gitlab-diff", {"mergeRequestUrl": url, **FILES}, tmp_path, base)
    assert web.asked[0].path == f"/git{PROJECT}"


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize(
    ("change", "code"),
    [({"outputFile": "../x"}, "path-escape"), ({"outputJsonFile": FILES["outputFile"]}, "params")],
)
def test_a_path_that_is_refused(tmp_path: Path, node: str, change: dict[str, str], code: str) -> None:
    with serve(site([])) as web:
        error = failed(node, {**params(web), **change}, tmp_path, env(web))
    assert (error.code, web.asked) == (code, [])


FLOW = """params: {url: {required: true}}
phases:
- id: a
  steps:
  - id: d
    node: fetch-gitlab-diff
    params:
      mergeRequestUrl: ${params.url}
      outputFile: gitlab-diff-x-1.md
      outputJsonFile: .artifacts/gitlab-diff-x-1.json
  - id: r
    node: fetch-gitlab-review
    params:
      mergeRequestUrl: ${params.url}
      outputFile: gitlab-review-x-1.md
      outputJsonFile: .artifacts/gitlab-review-x-1.json
  - id: f
    node: gitlab-review-artifacts
    params:
      gitlabReviewJsonFile: .artifacts/gitlab-review-x-1.json
      reviewFile: review-x-1.md
      reviewJsonFile: .artifacts/review-x-1.json
"""


def test_a_flow_publishes_what_it_fetches(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write(".handrail/flows/g.yaml", FLOW)
    answer = {"diffs": site([]), "discussions": site(ROWS)}
    with serve(lambda asked: answer.get(asked.path.rpartition("/")[2], site([]))(asked)) as web:
        for name, value in env(web).items():
            monkeypatch.setenv(name, value)
        project.json("run", "g", "--param", f"url={web.url}/group/sub/project/-/merge_requests/7")
    published = project.json("artifacts", "last")["artifacts"]
    assert {item["path"]: item["schema"] for item in published if item["path"].endswith(".json")} == {
        ".artifacts/gitlab-diff-x-1.json": "gitlab-mr-diff/v1",
        ".artifacts/gitlab-review-x-1.json": "gitlab-review/v1",
        ".artifacts/review-x-1.json": "review-findings/v1",
    }
    assert len(published) == 6
    for root in (project.folder, project.home):
        assert not [path for path in root.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
