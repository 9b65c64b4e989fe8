"""The topics of a project by their names: `home`, `run:ID`, `session:ID`."""

from __future__ import annotations

from handrail.app import App
from handrail.errors import UsageError
from handrail.live.home import LiveHome
from handrail.live.runs import LiveRun
from handrail.live.sessions import LiveSession
from handrail.source.suggest import did_you_mean

HOME = "home"
KINDS = ("run", "session")


def open_topic(app: App, name: str) -> LiveHome | LiveRun | LiveSession:
    """The topic with this name. Raises `UsageError` for a name without such a form, `NotFound` if there is none."""
    if name == HOME:
        return LiveHome(app)
    kind, _, id_ = name.partition(":")
    if kind not in KINDS or not id_:
        hint = did_you_mean(kind, (*KINDS, HOME)) or "write `home`, `run:ID` or `session:ID`"
        raise UsageError(f"there is no topic `{name}`", hint)
    if kind == "run":
        return LiveRun(app.runs, app.runs.named(id_))
    return LiveSession(app.sessions.choose(id_), app.secrets.mask)
