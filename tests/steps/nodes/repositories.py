"""Real git repositories for tests, with their own identity and no settings of the machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest


class Checkout:
    """A repository with one commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Ada")
        self.git("config", "user.email", "ada@example.com")

    def git(self, *args: str) -> str:
        ended = subprocess.run(["git", *args], cwd=self.folder, capture_output=True, check=False)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.decode("utf-8", "surrogateescape")

    def write(self, name: str | bytes, text: str) -> None:
        path = os.path.join(os.fsencode(self.folder), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def commit(self, message: str = "first") -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.head

    def hook(self, name: str, script: str) -> None:
        path = Path(self.git("rev-parse", "--absolute-git-dir").strip()) / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD").strip()

    def committed(self) -> set[str]:
        """The files of the last commit, as git changed them."""
        return set(self.git("show", "--format=", "--name-only", "--no-renames", "-z", "HEAD").split("\0")[:-1])

    @property
    def subjects(self) -> list[str]:
        return self.git("log", "--format=%s").splitlines()


def isolate(patch: pytest.MonkeyPatch) -> None:
    """Let git see no settings of the machine or of the user."""
    patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    for name in [name for name in os.environ if name.startswith(("GIT_AUTHOR", "GIT_COMMITTER", "EMAIL"))]:
        patch.delenv(name)
