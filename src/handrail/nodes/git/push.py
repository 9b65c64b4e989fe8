"""`git-push`: pushes a branch to a remote, once. It looks at the branch of the remote before, and after a failure."""

from __future__ import annotations

from typing import Any

from handrail.contracts import Node, NodeContext, NodeError, Work
from handrail.nodes.git.refs import REMOTE, checked_branch, commit_at, current_branch, flag
from handrail.nodes.git.repository import CWD, Repository, opened
from handrail.nodes.git.transport import transport
from handrail.source.fields import Field
from handrail.source.values import as_text

NODE = Node(
    about="Pushes a branch to a remote. If the branch of the remote has the commit already, nothing is pushed. Commits "
    "of others are never overwritten, unless `force` is true and nobody has pushed in the meantime. Over HTTPS it uses "
    "GITHUB_TOKEN or GITLAB_TOKEN for the configured host, else what git is set up for.",
    params=(
        REMOTE,
        Field("branch", ("text", "null"), "the branch; by default the one that is checked out"),
        Field("to", ("text", "null"), "the name of the branch on the remote; by default the same"),
        Field("force", ("boolean",), "overwrite the branch of the remote", default=False),
        CWD,
    ),
    outputs={
        "remote": "the name of the remote",
        "address": "its address, without a password",
        "branch": "the branch on the remote",
        "commit": "the commit that the branch of the remote is at",
        "pushed": "true if this step changed the branch of the remote",
    },
)


async def run(work: Work, context: NodeContext) -> Any:
    repository = await opened(work, context)
    is_forced = flag(work.params, "force")
    branch = await _branch(repository, work.params.get("branch"))
    to = branch if work.params.get("to") is None else await checked_branch(repository, work.params["to"], "to")
    commit = await commit_at(repository, f"refs/heads/{branch}")
    if commit is None:
        raise NodeError("git-missing", f"there is no branch `{branch}` with a commit", transient=False)
    name, ref = as_text(work.params.get("remote") or REMOTE.default), f"refs/heads/{to}"
    at = await transport(repository, name, work, context)
    seen = await at.commit_of(ref)
    before = context.remember("before", seen)
    if seen != commit:
        try:
            await at.push(commit, ref, seen, is_forced=is_forced)
        except NodeError as error:
            if error.code not in ("git-failed", "timeout") or await at.commit_of(ref) != commit:
                raise
    return {"remote": name, "address": at.shown, "branch": to, "commit": commit, "pushed": before != commit}


async def _branch(repository: Repository, given: Any) -> str:
    if given is not None:
        return await checked_branch(repository, given, "branch")
    current = await current_branch(repository)
    if current is None:
        message = "no branch is checked out, so say in `branch` which one is pushed"
        raise NodeError("git-missing", message, transient=False)
    return current
