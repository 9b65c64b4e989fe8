"""Removes the files of a session whose workflow has ended."""

from __future__ import annotations

import contextlib
import os

from handrail.errors import StateError
from handrail.sessions import links
from handrail.sessions.store import Session
from handrail.state.removal import remove_folder


def last_change(session: Session) -> float | None:
    """When the journal of a session was written last; None if there is none."""
    try:
        return os.stat(session.journal).st_mtime
    except OSError:
        return None


def remove_session(session: Session, *, is_orphan: bool) -> bool:
    """Remove a session and the link to it. False if it is used now, or its workflow is active.

    `is_orphan`: it belongs to a run that was removed, so nothing will continue an active workflow in it.
    """
    try:
        with session.locked(0.0):
            if session.read().state.is_active and not is_orphan:
                return False
            link = session.link()
            with contextlib.suppress(OSError, ValueError):
                if link is not None and (ref := links.read(link)) is not None and ref.folder == session.folder:
                    links.remove(link)
            remove_folder(session.folder)
    except StateError:
        return False
    return True
