"""`pr-open`: opens a pull request on GitHub or a merge request on GitLab, once. The remote says where."""

from __future__ import annotations

from typing import Any, NamedTuple

from handrail.extensions.contracts import LastingError, Node, NodeContext, OneNode, Preview, Work, refuse_changed
from handrail.settings.secrets import Secrets
from handrail.source.fields import SCALARS, Field
from handrail.source.values import as_text, shown
from handrail.steps.nodes.forges.documents import FORGE_MODULES
from handrail.steps.nodes.git.commands import (
    CWD,
    REMOTE,
    Repository,
    open_repository,
)
from handrail.steps.services.addresses import parse_remote, public_address
from handrail.steps.services.forges import FORGES, ForgeName, Proposal, forge_of_remote, forge_site, mark, project_path

LONGEST_TITLE = 250
PLACE = (
    Field("forge", ("text", "null"), "the forge; by default the host of the remote says it", choices=tuple(FORGES)),
    Field(
        "repository",
        ("text", "null"),
        "`OWNER/NAME` or `GROUP/PROJECT`; by default the address of the remote says it",
    ),
)
NODE = Node(
    about="Opens a pull request on GitHub with GITHUB_TOKEN, or a merge request on GitLab with GITLAB_TOKEN. The "
    "branch has to be pushed before. If there is an open one from the branch to the base, that one is used.",
    params=(
        Field("title", SCALARS, "the title; at most 250 characters are used", required=True, shortest=1),
        Field("body", (*SCALARS, "null"), "the description, as Markdown", also=("description", "text")),
        Field("base", ("text", "null"), "the branch to merge into; by default the default branch", also=("target",)),
        Field("head", ("text", "null"), "the branch to merge; by default the one that is checked out"),
        Field("headOwner", ("text", "null"), "on GitHub: whose fork has the branch; by default the repository itself"),
        Field("draft", ("boolean",), "open it as a draft", default=False),
        REMOTE,
        *PLACE,
        CWD,
    ),
    outputs={
        "url": "the address of the pull or merge request",
        "number": "its number",
        "state": "`open`; `closed` or `merged` if that happened to the one that this step opened before",
        "created": "true if this step opened it",
        "forge": "`github` or `gitlab`",
        "repository": "`OWNER/NAME` or `GROUP/PROJECT`",
        "head": "the branch to merge",
        "base": "the branch to merge into",
    },
    where=("forge", "repository", "head", "base"),
)


_FIND = Node(
    about="Says on which forge the repository of a remote is. Fails if it is on none, or if a login for it is missing. "
    "It asks only git.",
    params=(REMOTE, *PLACE, CWD),
    outputs={"forge": "`github` or `gitlab`", "repository": "`OWNER/NAME` or `GROUP/PROJECT`"},
)


async def _find(work: Work, context: NodeContext) -> Any:
    kind, project = await _project(await open_repository(work, context), work.params, context)
    FORGE_MODULES[kind].checked_project(project)
    FORGE_MODULES[kind].open_service(context.env, True)  # raises an error without a login
    return {"forge": kind, "repository": project}


FIND_FORGE = OneNode(_FIND, _find)


class PullRequest(NamedTuple):
    """A pull or merge request to open, and where. `commit` is that of its branch here, if the branch is here."""

    kind: ForgeName
    project: str
    proposal: Proposal
    commit: str | None

    @property
    def state(self) -> dict[str, str]:
        """The state that an approval is for."""
        return {"commit": self.commit or "none"}


async def run(work: Work, context: NodeContext) -> Any:
    change = await _prepared(work, context)
    refuse_changed(work, change.state)
    forge = FORGE_MODULES[change.kind]
    async with forge.open_service(context.env, True) as service:
        pull_request = await forge.open_once(service, change.project, change.proposal)
    return {
        "url": pull_request.url,
        "number": pull_request.number,
        "state": pull_request.state,
        "created": pull_request.is_new,
        "forge": change.kind,
        "repository": change.project,
        "head": pull_request.head,
        "base": pull_request.base,
    }


async def preview(work: Work, context: NodeContext) -> Preview:
    change = await _prepared(work, context)
    proposal = change.proposal
    owner = f"{proposal.owner}:" if proposal.owner else ""
    base = proposal.base or "the default branch"
    return Preview(
        title=f"Open a {FORGES[change.kind].change} in `{change.project}`: {proposal.title}",
        facts=(
            ("Where", f"{forge_site(change.kind, context.env)}{change.project}"),
            ("From", f"{owner}{proposal.head}" + (f", commit {change.commit} here" if change.commit else "")),
            ("Into", base),
            ("Title", proposal.title),
            ("Description", proposal.body or "none"),
            ("Draft", "yes" if proposal.draft else "no"),
        ),
        state=change.state,
        where={"forge": change.kind, "repository": change.project, "head": proposal.head, "base": proposal.base or ""},
    )


async def _prepared(work: Work, context: NodeContext) -> PullRequest:
    params = work.params
    checkout = await open_repository(work, context)
    hidden = Secrets(context.env, context.secrets)
    title = " ".join(hidden.mask(as_text(params["title"])).split())
    base = await checkout.checked_branch(params["base"], "base") if params.get("base") else None
    kind, project = await _project(checkout, params, context)
    proposal = Proposal(
        head=await checkout.branch_of_param(params, "head", "meant"),
        base=base,
        title=title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…",
        body=hidden.mask("" if params.get("body") is None else as_text(params["body"])),
        draft=params["draft"],
        mark=mark(context.key),
        owner=(params.get("headOwner") or "").strip() or None,
    )
    if proposal.head == base:
        raise LastingError("params", f"`head` and `base` are the same branch, `{base}`")
    FORGE_MODULES[kind].checked_project(project)
    return PullRequest(kind, project, proposal, await checkout.commit_at(f"refs/heads/{proposal.head}"))


async def _project(checkout: Repository, params: dict[str, Any], context: NodeContext) -> tuple[ForgeName, str]:
    """The forge and the path of the repository there, from the params or from the address of the remote."""
    forge: ForgeName | None = params.get("forge") or None
    path = None if params.get("repository") is None else params["repository"].strip().strip("/")
    if forge is not None and path is not None:
        return forge, path
    address = await checkout.remote_address(params["remote"])
    remote = parse_remote(address)
    if remote is None:
        message = f"`{shown(public_address(address), 120)}` is not the address of a repository on GitHub or GitLab"
        raise LastingError("remote-address", f"{message}; say `forge` and `repository`")
    kind = forge or forge_of_remote(remote, context.env)
    return kind, project_path(remote, kind, context.env) if path is None else path
