"""A small GitHub on loopback: one repository with issues, pull requests, comments, reviews and checks.

It knows as much of GitHub's HTTP as Handrail uses: pages by `Link`, filters of pull requests, and a second pull request
from the same branch is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from steps.services.web import Asked, Reply, Web

OWNER, NAME, TOKEN = "octo", "tea", "ghp_s3cretS3cretS3cret"
SHA = "a" * 40
Answer = Callable[[Asked], Reply]


class GitHub:
    """`lists` and `objects` are what it answers with, by path below the repository. A pull request can be opened."""

    def __init__(self) -> None:
        self.web: Web
        self.objects: dict[str, Any] = {"": {"default_branch": "main"}}
        self.lists: dict[str, list[Any]] = {"pulls": []}
        self.page_size = 100
        self.special: dict[str, Answer] = {}
        """Answers for single paths, such as one that misbehaves."""

    def answer(self, asked: Asked) -> Reply:
        root = f"/api/v3/repos/{OWNER}/{NAME}"
        if asked.headers.get("authorization") != f"Bearer {TOKEN}":
            return Reply({"message": "Bad credentials"}, 401)
        if not asked.path.startswith(root):
            return Reply({"message": "Not Found"}, 404)
        path = asked.path.removeprefix(root).strip("/")
        if f"{asked.method} {path}" in self.special:
            return self.special[f"{asked.method} {path}"](asked)
        if asked.method == "POST":
            return self._opened(asked.content) if path == "pulls" else self._commented(path, asked.content)
        if path in self.lists:
            return self._page(asked, path)
        return Reply(self.objects[path]) if path in self.objects else Reply({"message": "Not Found"}, 404)

    def _page(self, asked: Asked, path: str) -> Reply:
        rows = [row for row in self.lists[path] if path != "pulls" or _fits(row, asked.query)]
        number, size = int(asked.query.get("page", 1)), min(int(asked.query.get("per_page", 30)), self.page_size)
        part = rows[(number - 1) * size : number * size]
        headers = {}
        if number * size < len(rows):
            at = f"{self.web.url}{asked.path}?per_page={size}&page={number + 1}"
            headers = {"Link": f'<{at}>; rel="next", <{at}9>; rel="last"'}
        member = {"check-runs": "check_runs", "status": "statuses"}.get(path.rpartition("/")[2])
        return Reply(part if member is None else {"total_count": len(rows), member: part}, headers=headers)

    def _opened(self, content: Any) -> Reply:
        same = {"head": content["head"], "base": content["base"]}
        if any(_fits(row, same) and row["state"] == "open" for row in self.lists["pulls"]):
            said = {"message": "Validation Failed", "errors": [{"message": "A pull request already exists"}]}
            return Reply(said, 422)
        row = self.pull(len(self.lists["pulls"]) + 1, **content)
        self.lists["pulls"].append(row)
        return Reply(row, 201)

    def pull(self, number: int, head: str, base: str, **more: Any) -> dict[str, Any]:
        owner, _, ref = head.rpartition(":")
        return {
            "number": number,
            "state": "open",
            "html_url": f"{self.web.url}/{OWNER}/{NAME}/pull/{number}",
            "head": {"ref": ref, "sha": SHA, "user": {"login": owner or OWNER}},
            "base": {"ref": base},
            "merged_at": None,
            **more,
        }

    def _commented(self, path: str, content: Any) -> Reply:
        rows = self.lists.setdefault(path, [])
        row = {"id": len(rows) + 1, "html_url": f"{self.web.url}/c/{len(rows) + 1}", **content}
        rows.append(row)
        return Reply(row, 201)

    def env(self, **more: str) -> dict[str, str]:
        return {"GITHUB_API_URL": f"{self.web.url}/api/v3", "GITHUB_TOKEN": TOKEN, **more}

    def page(self, kind: str, number: int) -> str:
        return f"{self.web.url}/{OWNER}/{NAME}/{kind}/{number}"


def _fits(row: dict[str, Any], query: dict[str, str]) -> bool:
    head = f"{row['head']['user']['login']}:{row['head']['ref']}"
    state = query.get("state", "open")
    return (
        query.get("head", head) == head
        and query.get("base", row["base"]["ref"]) == row["base"]["ref"]
        and state in (row["state"], "all")
    )
