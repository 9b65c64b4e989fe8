"""What a push would bring to a remote: its commits and how many lines they change. Reads only."""

from __future__ import annotations

from typing import NamedTuple

from handrail.nodes.git.refs import commit_at
from handrail.nodes.git.repository import Repository
from handrail.source.plain import counted

MOST_COMMITS = 100
MOST_STAT = 200_000
_LOG = ("log", "--no-color", "--no-decorate", "--no-show-signature", "--format=%h %an: %s")
STAT = ("--no-color", "--no-ext-diff", "--no-textconv", "--stat=100", "--summary")


class Brought(NamedTuple):
    """The new commits and the changed lines, as texts for people."""

    commits: str
    changes: str


async def brought(repository: Repository, commit: str, seen: str | None, remote: str) -> Brought:
    """What comes to a branch that is at `seen`. If it is new there, everything that no branch of the remote has."""
    known = None if seen is None else await commit_at(repository, seen)
    others = [f"^{known}"] if known else [f"--remotes={remote}"] if seen is None else []
    words = ["--not", *others] if others and seen is None else others
    if seen is not None and known is None:
        return Brought("the commit of the remote is not here, so the new commits are not known", "not known")
    listed = await _commits(repository, commit, *words)
    if not listed:
        return Brought("none", "none")
    base = known or await _base(repository, commit, *words)
    return Brought(await _counted(repository, listed, commit, *words), await _stat(repository, base, commit))


async def lost(repository: Repository, commit: str, seen: str | None) -> str | None:
    """The commits of the remote that a push overwrites. None if there are none."""
    if seen is None:
        return None
    if await commit_at(repository, seen) is None:
        return f"all commits up to {seen}, which are not here"
    listed = await _commits(repository, seen, f"^{commit}")
    return "\n".join(listed) or None


async def _commits(repository: Repository, *words: str) -> list[str]:
    found = await repository.read(*_LOG, "-n", str(MOST_COMMITS), *words, "--")
    return found.decode("utf-8", "replace").splitlines()


async def _counted(repository: Repository, listed: list[str], *words: str) -> str:
    if len(listed) == MOST_COMMITS:
        total = int((await repository.read("rev-list", "--count", *words, "--")).decode())
        if total > MOST_COMMITS:
            listed = [*listed, f"… and {counted(total - MOST_COMMITS, 'older commit')} that are not listed"]
    return "\n".join(listed)


async def _base(repository: Repository, *words: str) -> str:
    """The commit before the oldest new one; the empty tree if that has none before it."""
    found = (await repository.read("rev-list", "--topo-order", *words, "--")).decode().split()
    before = await commit_at(repository, f"{found[-1]}^") if found else None
    return before or (await repository.read("hash-object", "-t", "tree", "--stdin", stdin=b"")).decode().strip()


async def _stat(repository: Repository, base: str, commit: str) -> str:
    printed = await repository.tell("diff", *STAT, base, commit, "--", most=MOST_STAT)
    return printed.data.decode("utf-8", "replace").rstrip() or "no file is changed"
