"""The topics of a project by their names: `home`, `catalog`, `run:ID`, `session:ID`."""

from __future__ import annotations

from handrail.app import App
from handrail.errors import UsageError
from handrail.live.catalog import LiveCatalog
from handrail.live.home import LiveHome
from handrail.live.runs import LiveRun
from handrail.live.sessions import LiveSession
from handrail.source.suggest import did_you_mean

HOME, CATALOG = "home", "catalog"
KINDS = ("run", "session")


def open_topic(app: App, name: str) -> LiveHome | LiveCatalog | LiveRun | LiveSession:
    """The topic with this name. Raises `UsageError` for a name without such a form, `NotFound` if there is none."""
    if name == HOME:
        return LiveHome(app)
    if name == CATALOG:
        return LiveCatalog(app)
    kind, _, id_ = name.partition(":")
    if kind not in KINDS or not id_:
        hint = did_you_mean(kind, (*KINDS, HOME, CATALOG)) or "write `home`, `catalog`, `run:ID` or `session:ID`"
        raise UsageError(f"there is no topic `{name}`", hint)
    if kind == "run":
        return LiveRun(app.runs, app.runs.named(id_))
    return LiveSession(app.sessions.choose(id_), app.secrets.mask)
