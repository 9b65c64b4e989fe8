"""`git-branch`: switches to a branch, and creates it if there is none. Running it again changes nothing."""

from __future__ import annotations

from typing import Any

from handrail.extensions.contracts import Node, NodeContext, NodeError, Work
from handrail.source.fields import Field
from handrail.source.plain_text import some
from handrail.source.values import as_text, shown
from handrail.steps.nodes.git.commands import (
    CWD,
    Repository,
    checked_branch,
    commit_at,
    current_branch,
    open_repository,
    shown_name,
)

NODE = Node(
    about="Switches to a branch, and creates it from a base if there is none. A branch that exists is never moved. "
    "With uncommitted changes it fails, unless it is on the branch already or `allowDirty` is true.",
    params=(
        Field("name", ("text",), "the name of the branch", required=True, shortest=1, also=("branch",)),
        Field(
            "base",
            ("text", "null"),
            "what a new branch starts from: a branch, a tag or a commit; by default what is checked out",
            also=("from", "startPoint"),
        ),
        Field("allowDirty", ("boolean",), "take uncommitted changes along to the branch", default=False),
        CWD,
    ),
    outputs={
        "branch": "the name of the branch",
        "created": "true if this step created it",
        "commit": "the commit that is checked out",
        "previous": "the branch that was checked out before; null if there was none",
    },
)


async def run(work: Work, context: NodeContext) -> Any:
    repository = await open_repository(work, context)
    name = await checked_branch(repository, work.params["name"], "name")
    current = await current_branch(repository)
    existing = await commit_at(repository, f"refs/heads/{name}")
    before = context.remember("before", {"branch": current, "existed": existing is not None or current == name})
    if current != name:
        if not work.params["allowDirty"]:
            await _refuse_changes(repository, name)
        words = ["--no-guess", name] if existing else ["--create", name, await _base(repository, work.params)]
        await repository.perform("switch", "--no-progress", *words)
    return {
        "branch": name,
        "created": not before["existed"],
        "commit": await repository.head(),
        "previous": before["branch"],
    }


async def _refuse_changes(repository: Repository, name: str) -> None:
    changes = await repository.changes()
    if changes:
        files = some([shown_name(change.name) for change in changes])
        message = f"there are uncommitted changes, so the branch is not changed to `{name}`: {files}"
        raise NodeError("git-dirty", message, transient=False)


async def _base(repository: Repository, params: dict[str, Any]) -> str:
    """The commit that the base means: here, or else on `origin`."""
    given = params.get("base")
    base = "HEAD" if given is None else as_text(given).strip()
    for place in (base, f"refs/remotes/origin/{base}"):
        found = await commit_at(repository, place)
        if found is not None:
            return found
    what = "there is no commit yet" if base == "HEAD" else f"there is no branch, tag or commit `{shown(base, 80)}`"
    raise NodeError("git-missing", f"`base`: {what}", transient=False)
