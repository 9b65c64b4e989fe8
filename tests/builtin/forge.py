"""A small GitHub on loopback whose branches are those of a real bare repository: pull requests, checks, comments.

It can kill the process that sends it a request: the request is served, the answer gets lost.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from steps.services.githubs import NAME, OWNER, GitHub
from steps.services.web import Asked, Reply

ADA = {"login": "ada"}
TIME = "2026-01-01T00:00:{:02d}Z"
HOOK = "#!/bin/sh\nwhile read old new ref; do echo $ref $new >> {}; done\n"
_COMMIT = re.compile(r"commits/(?P<sha>[0-9a-f]{40})/(?:check-runs|status)")
Kill = Callable[[], None]


class Forge(GitHub):
    """`needs` is a file that the check `ci` wants in a commit. `remarks` are what a person says when `ci` has passed.

    `kill` is called by the first request to `deadly`, such as `POST pulls`.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.bare = folder / "bare.git"
        self.log = folder / "pushes"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(self.bare)], check=True)
        hook = self.bare / "hooks" / "post-receive"
        hook.write_text(HOOK.format(self.log))
        hook.chmod(0o755)
        self.needs = ""
        self.remarks: list[str] = []
        self.deadly = ""
        self.kill: Kill | None = None
        self.looks = 0
        self.seconds = 0

    @property
    def pushes(self) -> list[str]:
        """The branches that were pushed, in order."""
        return [line.split()[0].removeprefix("refs/heads/") for line in self.log.read_text().splitlines()]

    def files(self, commit: str) -> list[str]:
        return self._git("ls-tree", "-r", "--name-only", commit).splitlines()

    def head(self, branch: str) -> str:
        return self._git("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}").strip()

    def show(self, branch: str, file: str) -> str:
        return self._git("show", f"{branch}:{file}")

    def _git(self, *argv: str) -> str:
        return subprocess.run(["git", *argv], cwd=self.bare, capture_output=True, check=True, text=True).stdout

    @property
    def pulls(self) -> list[dict[str, Any]]:
        return self.lists["pulls"]

    def said(self, number: int) -> list[dict[str, Any]]:
        """The comments below a pull request or an issue."""
        return self.lists.setdefault(f"issues/{number}/comments", [])

    def say(self, number: int, text: str) -> None:
        """Let a person comment."""
        self.said(number).append({"id": 1000 + len(self.said(number)), "body": text, "user": ADA, **self._now()})

    def _now(self) -> dict[str, str]:
        self.seconds += 1
        return {"created_at": TIME.format(self.seconds), "updated_at": TIME.format(self.seconds)}

    def answer(self, asked: Asked) -> Reply:
        path = asked.path.partition(f"/{OWNER}/{NAME}")[2].strip("/")
        self._prepare(path)
        if asked.method == "POST" and path != "pulls":
            asked = asked._replace(content={**asked.content, "user": {"login": "handrail"}, **self._now()})
        reply = super().answer(asked)
        if self.deadly == f"{asked.method} {path}" and self.kill is not None:
            kill, self.kill = self.kill, None
            kill()
        return reply

    def _prepare(self, path: str) -> None:
        """Let the answer show the branches and the checks of this moment."""
        for row in self.pulls:
            row["head"]["sha"] = self.head(row["head"]["ref"])
            self.objects[f"pulls/{row['number']}"] = {**row, "title": row["title"], "user": ADA, "merged": False}
            for name in ("reviews", "comments", "files"):
                self.lists.setdefault(f"pulls/{row['number']}/{name}", [])
            self.said(row["number"])
        found = _COMMIT.fullmatch(path)
        if found is not None:
            self.lists[f"commits/{found['sha']}/status"] = []
            self.lists[f"commits/{found['sha']}/check-runs"] = [self._check(found["sha"])]
            self.lists["check-runs/1/annotations"] = []

    def _check(self, sha: str) -> dict[str, Any]:
        """The check is not done at the first look at a commit."""
        self.looks += 1
        row = {"id": 1, "name": "ci", "html_url": f"{self.web.url}/ci", "app": {"slug": "ci"}}
        if self.looks == 1:
            return {**row, "status": "in_progress", "conclusion": None}
        if self.needs in ("", *self.files(sha)):
            if self.remarks:
                self.say(1, self.remarks.pop(0))
            return {**row, "status": "completed", "conclusion": "success"}
        told = {"title": "ci failed", "summary": f"{self.needs} is missing"}
        return {**row, "status": "completed", "conclusion": "failure", "output": told}
