"""The scope of a run, under which its artifacts are."""

from __future__ import annotations

from handrail.artifacts.scope import default_scope, given_scope, scope_at, ticket_key
from handrail.errors import UsageError
from handrail.runs.request import Request
from handrail.secrets.redaction import Secrets
from handrail.source.values import Unresolved


def scope_of(request: Request, project: str, secrets: Secrets, *, is_foreign: bool) -> str:
    """The scope of a run: the given one, else that of its ticket, else that of the branch in its folder."""
    ticket, tree = ticket_key(request.task) if is_foreign else None, request.worktree
    try:
        if request.scope:
            scope = given_scope(project, request.scope)
        else:
            scope = default_scope(project, ticket) if tree is None else scope_at(tree.path, ticket or tree.branch)
    except Unresolved as error:
        raise UsageError(error.message, "name a scope with letters or digits: `--scope NAME`") from error
    if (name := secrets.found_in(scope)) is not None:
        raise UsageError(f"the scope contains the value of the secret `{name}`", "name another one: `--scope NAME`")
    return scope
