"""The hooks of a repository: programs that git runs by itself. An agent may have written them, so people see them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable

from handrail.contracts import NodeError
from handrail.nodes.git.repository import Repository
from handrail.state.regular import Unreadable, read_regular

PRE_PUSH = "pre-push"
OF_COMMIT = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
MAX_BYTES = 64 * 1024 * 1024


async def hook(repository: Repository, name: str) -> str | None:
    """The path of a hook. None if git would not run it."""
    path = os.fsdecode((await repository.read("rev-parse", "--git-path", f"hooks/{name}")).removesuffix(b"\n"))
    found = os.path.join(repository.folder, path)
    return found if os.path.isfile(found) and os.access(found, os.X_OK) else None


async def told(repository: Repository, names: Iterable[str]) -> str:
    """Those of these hooks that git would run, each with the beginning of its digest. Empty if there are none."""
    listed = []
    for name in names:
        path = await hook(repository, name)
        if path is not None:
            try:
                digest = hashlib.sha256(read_regular(path, MAX_BYTES)).hexdigest()[:16]
            except Unreadable as error:
                raise NodeError("git-failed", f"the hook `{name}` {error.message}", transient=False) from error
            listed.append(f"{name} (sha256 {digest})")
    return ", ".join(listed)


def facts(hooks: str) -> list[tuple[str, str]]:
    """What a preview says about hooks."""
    return [("Hooks", f"git runs these programs of the repository: {hooks}")] if hooks else []
