"""`git-push`: pushes a branch to a remote, once. It looks at the branch of the remote before, and after a failure."""

from __future__ import annotations

from typing import Any, NamedTuple

from handrail.contracts import Node, NodeContext, NodeError, Preview, Work, refuse_changed
from handrail.nodes.git import hooks
from handrail.nodes.git.history import brought, lost
from handrail.nodes.git.refs import REMOTE, checked_branch, commit_at, current_branch, flag
from handrail.nodes.git.repository import CWD, Repository, opened
from handrail.nodes.git.transport import Transport, transport
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
    where=("remote", "address", "branch", "force"),
)


class Push(NamedTuple):
    """What is to be pushed where. `seen` is the commit that the branch of the remote is at; None if there is none."""

    repository: Repository
    at: Transport
    branch: str
    to: str
    commit: str
    seen: str | None
    is_forced: bool

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.to}"

    @property
    def is_done(self) -> bool:
        return self.seen == self.commit

    async def state(self) -> dict[str, str]:
        """What a yes to this push is for."""
        return {
            "commit": self.commit,
            "commit on the remote": self.seen or "none",
            "address": " ".join(self.at.addresses),
            "hooks": await hooks.told(self.repository, [hooks.PRE_PUSH]),
        }


async def run(work: Work, context: NodeContext) -> Any:
    push = await _prepared(work, context)
    before = context.remember("before", push.seen)
    if not push.is_done:
        if work.approved is not None:
            refuse_changed(work, await push.state())
        try:
            await push.at.push(push.commit, push.ref, push.seen, is_forced=push.is_forced)
        except NodeError as error:
            if error.code not in ("git-failed", "timeout") or await push.at.commit_of(push.ref) != push.commit:
                raise
    return {
        "remote": push.at.name,
        "address": push.at.shown,
        "branch": push.to,
        "commit": push.commit,
        "pushed": before != push.commit,
    }


async def preview(work: Work, context: NodeContext) -> Preview:
    push = await _prepared(work, context)
    repository, state = push.repository, await push.state()
    new = await brought(repository, push.commit, push.seen, push.at.name)
    overwritten = await lost(repository, push.commit, push.seen) if push.is_forced else None
    there = "a new branch" if push.seen is None else "it has the commit already" if push.is_done else f"at {push.seen}"
    facts = (
        ("Remote", "\n".join((push.at.name, *push.at.addresses))),
        ("Branch", f"{push.branch}, commit {push.commit}"),
        ("On the remote", f"{push.to}: {there}"),
        ("Forced", f"yes, it overwrites:\n{overwritten}" if overwritten else "yes" if push.is_forced else "no"),
        ("New commits", new.commits),
        ("Changes", new.changes),
        *hooks.facts(state["hooks"]),
    )
    is_forced = "true" if push.is_forced else "false"
    return Preview(
        title=f"Push `{push.branch}` to `{push.to}` of `{push.at.name}`{' by force' if push.is_forced else ''}",
        facts=facts,
        state=state,
        where={"remote": push.at.name, "address": push.at.shown, "branch": push.to, "force": is_forced},
        risks=("force",) if push.is_forced else (),
    )


async def _prepared(work: Work, context: NodeContext) -> Push:
    repository = await opened(work, context)
    is_forced = flag(work.params, "force")
    branch = await _branch(repository, work.params.get("branch"))
    to = branch if work.params.get("to") is None else await checked_branch(repository, work.params["to"], "to")
    commit = await commit_at(repository, f"refs/heads/{branch}")
    if commit is None:
        raise NodeError("git-missing", f"there is no branch `{branch}` with a commit", transient=False)
    at = await transport(repository, as_text(work.params.get("remote") or REMOTE.default), work, context)
    return Push(repository, at, branch, to, commit, await at.commit_of(f"refs/heads/{to}"), is_forced)


async def _branch(repository: Repository, given: Any) -> str:
    if given is not None:
        return await checked_branch(repository, given, "branch")
    current = await current_branch(repository)
    if current is None:
        message = "no branch is checked out, so say in `branch` which one is pushed"
        raise NodeError("git-missing", message, transient=False)
    return current
