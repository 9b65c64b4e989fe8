"""Branches and remotes of a repository: their names checked, and where they are."""

from __future__ import annotations

from typing import Any

from handrail.contracts import NodeError
from handrail.nodes.git.repository import Repository
from handrail.source.fields import Field
from handrail.source.values import as_text, shown

LONGEST_NAME = 200
REMOTE = Field("remote", ("text",), "the name of the remote", default="origin", shortest=1)


def flag(params: dict[str, Any], name: str) -> bool:
    """A param that has to be true or false, and is false by default."""
    value = params.get(name)
    if value is not None and not isinstance(value, bool):
        raise NodeError("params", f"`{name}` has to be true or false, found `{shown(value)}`", transient=False)
    return bool(value)


async def checked_branch(repository: Repository, given: Any, param: str) -> str:
    """The name of a branch. Raises `NodeError` if git would not allow it, or would read it as something else."""
    name = as_text(given)
    is_short = bool(name) and len(name.encode("utf-8", "replace")) <= LONGEST_NAME and "\0" not in name
    printed = await repository.tell("check-ref-format", "--branch", name) if is_short else None
    said = "" if printed is None or printed.exit_code != 0 else printed.data.decode("utf-8", "replace").strip()
    if said != name or name in ("HEAD", "@"):
        message = f"`{param}`: `{shown(name, 80)}` cannot be the name of a branch"
        raise NodeError("params", message, transient=False)
    return name


async def current_branch(repository: Repository) -> str | None:
    """The branch that is checked out, also if it has no commit yet. None if a commit is checked out."""
    printed = await repository.tell("symbolic-ref", "--quiet", "--short", "HEAD")
    return printed.data.decode("utf-8", "replace").strip() if printed.exit_code == 0 else None


async def commit_at(repository: Repository, name: str) -> str | None:
    """The commit that a full name of a ref, or another name of a commit, means. None if there is none."""
    if not name or name.startswith("-") or "\0" in name:
        return None
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    printed = await repository.tell(*words)
    return printed.data.decode().strip() or None if printed.exit_code == 0 else None


async def remote_address(repository: Repository, name: str, *more: str) -> str:
    """The address of a remote; with `--push`, where it is pushed to. Raises `NodeError` if there is no such remote."""
    is_name = bool(name) and not name.startswith("-") and "\0" not in name
    printed = await repository.tell("remote", "get-url", *more, name) if is_name else None
    found = "" if printed is None or printed.exit_code != 0 else printed.data.decode("utf-8", "replace").strip()
    if not found:
        message = f"the repository has no remote `{shown(name, 80)}`; `git remote add` adds one"
        raise NodeError("git-missing", message, transient=False)
    return found
