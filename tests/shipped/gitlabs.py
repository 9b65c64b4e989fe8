"""A small GitLab on loopback: an issue, a merge request with comments, and the merge requests that are opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from services.web import Asked, Reply, Web

PROJECT = "/api/v4/projects/group%2Ftea"
ADA = {"username": "ada"}
WHEN = {"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}
ABOUT = {"title": "Order", "description": "Keep it.", "state": "opened", "author": ADA, "labels": ["bug"], **WHEN}
NOTE = {"id": 9, "body": "Why?", "author": ADA, "resolvable": True, "resolved": False, **WHEN}
DIFF = {"old_path": "a.py", "new_path": "a.py", "diff": "-1\n+2\n"}


class GitLab:
    """`notes` are the comments that were written, `made` are the merge requests that were opened.

    `kill` is called by the first of them, before it is answered.
    """

    web: Web

    def __init__(self) -> None:
        self.notes: list[dict[str, Any]] = []
        self.made: list[dict[str, Any]] = []
        self.kill: Callable[[], None] | None = None

    def answer(self, asked: Asked) -> Reply:
        path = asked.path.removeprefix(PROJECT)
        if asked.method == "POST":
            row = self._write(path, asked.content)
            kill, self.kill = self.kill, None
            if kill is not None:
                kill()
            return Reply(row, 201)
        lists = {
            "/merge_requests/7/diffs": [DIFF],
            "/merge_requests/7/discussions": [{"id": "d", "notes": [NOTE]}],
            "/merge_requests/7/notes": self.notes,
            "/issues/12/notes": [NOTE],
            "/merge_requests": self.made,
        }
        if path in lists:
            return Reply(lists[path])
        change = {**ABOUT, "sha": "a", "source_branch": "b"}
        objects = {"": {"default_branch": "main"}, "/merge_requests/7": change, "/issues/12": ABOUT}
        return Reply(objects[path]) if path in objects else Reply({"message": "404 Not found"}, 404)

    def _write(self, path: str, content: Any) -> dict[str, Any]:
        """Keep a comment or a merge request."""
        if path == "/merge_requests":
            number = 20 + len(self.made)
            about = {"iid": number, "state": "opened", "web_url": self.page(f"merge_requests/{number}")}
            self.made.append({**about, **content})
            return self.made[-1]
        self.notes.append({"id": 100 + len(self.notes), **content})
        return self.notes[-1]

    def page(self, kind: str) -> str:
        return f"{self.web.url}/group/tea/-/{kind}"
