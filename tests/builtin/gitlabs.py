"""A small GitLab on loopback: an issue, a merge request with comments, and the merge requests that are opened."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from builtin.forge import Forge
from steps.services.web import Asked, Reply, Web

PROJECT = "/api/v4/projects/group%2Ftea"
ADA = {"username": "ada"}
WHEN = {"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}
ABOUT = {"title": "Order", "description": "Keep it.", "state": "opened", "author": ADA, "labels": ["bug"], **WHEN}
NOTE = {"id": 9, "body": "Why?", "author": ADA, "resolvable": True, "resolved": False, **WHEN}
_STATUSES = re.compile(r"/repository/commits/(?P<sha>[0-9a-f]{40})/statuses")
DIFF = {"old_path": "a.py", "new_path": "a.py", "diff": "-1\n+2\n"}


class GitLab:
    """`notes` are the comments that were written, `made` are the merge requests that were opened.

    `kill` is called by the first of them, before it is answered. The merge requests that were opened have the branches
    of `forge`. Their check `ci` wants the file `forge.needs`; after it has passed, a person says what is in
    `forge.remarks`.
    """

    web: Web

    def __init__(self) -> None:
        self.notes: list[dict[str, Any]] = []
        self.made: list[dict[str, Any]] = []
        self.kill: Callable[[], None] | None = None
        self.forge: Forge | None = None
        self.looks = 0

    def answer(self, asked: Asked) -> Reply:
        path = asked.path.removeprefix(PROJECT)
        if asked.method == "POST":
            row = self._write(path, asked.content)
            kill, self.kill = self.kill, None
            if kill is not None:
                kill()
            return Reply(row, 201)
        if self.forge is not None and (found := self._watched(path, self.forge)) is not None:
            return found
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
        self._say(str(content["body"]), "handrail")
        return self.notes[-1]

    def _say(self, text: str, who: str) -> None:
        at = f"2026-01-01T00:00:{len(self.notes):02d}.250Z"
        note = {"id": 100 + len(self.notes), "body": text, "author": {"username": who}, "created_at": at}
        self.notes.append(note)

    def _watched(self, path: str, forge: Forge) -> Reply | None:
        """What the merge requests that were opened answer; None for other requests."""
        for row in self.made:
            if path == f"/merge_requests/{row['iid']}":
                return Reply({**ABOUT, **row, "sha": forge.head(row["source_branch"])})
            if path == f"/merge_requests/{row['iid']}/discussions":
                return Reply([{"id": str(note["id"]), "notes": [note]} for note in self.notes])
            if path == f"/merge_requests/{row['iid']}/notes":
                return Reply(self.notes)
        if path == "/jobs/1/trace":
            return Reply(content=f"{forge.needs} is missing\n".encode())
        found = _STATUSES.fullmatch(path)
        return None if found is None else Reply([self._check(found["sha"], forge)])

    def _check(self, sha: str, forge: Forge) -> dict[str, Any]:
        """The check is not done at the first look at a commit."""
        self.looks += 1
        row = {"id": 1, "name": "ci", "target_url": f"{self.web.url}/ci"}
        if self.looks == 1:
            return {**row, "status": "running"}
        if forge.needs not in ("", *forge.files(sha)):
            return {**row, "status": "failed"}
        if forge.remarks:
            self._say(forge.remarks.pop(0), "ada")
        return {**row, "status": "success"}

    def page(self, kind: str) -> str:
        return f"{self.web.url}/group/tea/-/{kind}"
