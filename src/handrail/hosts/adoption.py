"""A workflow that another program began in a conversation continues in Handrail, at the same phase. Needs all packages.

What cannot be continued is left as it is, and the person is told why.
"""

from __future__ import annotations

from handrail.errors import HandrailError
from handrail.hosts.branches import follow
from handrail.hosts.context import context
from handrail.sessions import links
from handrail.sessions.machine import Adopt, State
from handrail.sessions.sessions import Conversation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from handrail.app import App
    from handrail.contracts.messages import BranchChanged, Context, ForeignState
    from handrail.workflows.plan import Plan


def adopt(app: App, agent: str, request: BranchChanged) -> Context:
    """Continue the foreign workflow of a branch, unless the conversation has an active one."""
    found, conversation = request["foreign"], Conversation(agent, request["conversation"])
    assert found is not None, "only a request with a foreign state comes here"
    session, link = app.sessions.session(conversation.session), app.sessions.link(conversation)
    if not links.is_absent(link) or found["status"] != "active":
        return follow(agent, request, app.places)
    try:
        plan = app.catalog.plan(app.catalog.workflows[found["workflow"]])
    except (KeyError, HandrailError):
        return _left(found, f"there is no workflow `{found['workflow']}`")
    at = place_in(plan, found["path"])
    if at is None:
        return _left(found, f"`{found['workflow']}` has no such phase any more")
    state = State("active", at, found["steps"], session.pin(plan), found["task"], found["task_id"], found["started"])
    state = state._replace(idle_limit=app.settings.idle_stops, reminder_limit=app.settings.reminders)
    state = state._replace(same_limit=app.settings.same_failures)
    session.describe(link)
    outcome = session.do(Adopt(state, found["origin"]))
    if not outcome.after.is_active:
        raise AssertionError("a session without an active workflow takes over a foreign one")
    return context(None, notice=f"Handrail continues the workflow that {found['origin']} began: {found['task']}")


def place_in(plan: Plan, path: tuple[tuple[str, int], ...]) -> int | None:
    """The stop of a stack of levels; None if the plan has none. A stack may end at a subworkflow: then its first stop.

    pi-workflows leaves such a stack after it restarts a workflow that begins with a subworkflow.
    """
    for at, stop in enumerate(plan.stops):
        if tuple(stop.path[: len(path)]) == path:
            return at
    return None


def _left(found: ForeignState, why: str) -> Context:
    return context(None, notice=f"Handrail does not continue the workflow that {found['origin']} began: {why}.")
