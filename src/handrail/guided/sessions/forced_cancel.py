"""A cancel that a person confirmed. It frees the agent even if files are damaged, locked or read-only.

The link of the conversation is removed first, because its gate is open from then on. Recording the end comes second,
and waits for the session's lock only briefly. The files of a session that has ended are removed here, too.
Standard library only.
"""

from __future__ import annotations

import contextlib
import os

from handrail.base.errors import StateError
from handrail.base.files import put_aside, remove_folder
from handrail.guided.sessions import hook_files
from handrail.guided.sessions.machine import Cancel, State, Tell
from handrail.guided.sessions.store import Session, SessionReport, report_after

PATIENCE = 2.0
"""How many seconds to wait for the lock. Every command holds it for milliseconds."""


def free_agent(session: Session, link: str | None, reason: str) -> SessionReport:
    """Cancel the workflow of a session and unlink its conversation. Raises `StateError` if it is not free then."""
    had_link = link is not None and os.path.lexists(link)
    stuck = _unlink(link) if link is not None else None
    try:
        if session.read().number == 0:
            raise StateError(f"the journal `{session.journal}` has no valid record")
        report = report_after(session, session.do(Cancel(True, reason), seconds=PATIENCE))
        if report.refusal is None:
            session.do(Tell(), seconds=PATIENCE)
    except (StateError, OSError) as error:
        return _free_unrecorded(session, error, link if had_link else None, stuck)
    return report if stuck is None else report._replace(notices=(*report.notices, stuck))


def free_orphan(session: str, link: str, *, is_fork: bool) -> SessionReport:
    """Unlink a conversation whose session does not exist. Raises `StateError` if the link cannot be removed."""
    stuck = _unlink(link)
    if stuck is not None:
        raise StateError(stuck, f"remove it: `rm -r {link}`")
    message = (
        "This conversation no longer follows the workflow of its parent conversation."
        if is_fork
        else f"The files of session `{session}` are missing. The conversation no longer has a workflow."
    )
    return SessionReport(session, None, State("cancelled"), message)


def _free_unrecorded(session: Session, error: Exception, link: str | None, stuck: str | None) -> SessionReport:
    """Free a session whose end cannot be recorded: put its files aside, and say what could not be done."""
    why = getattr(error, "message", None) or str(error)
    try:
        told = f"Its files are now in `{session.move_aside()}`."
        is_moved = True
    except (StateError, OSError) as failed:
        told = f"Its files could not be moved: {getattr(failed, 'message', None) or failed}."
        is_moved = False
    if stuck is not None:
        raise StateError(f"the workflow is still active: {stuck}", f"remove the link: `rm -r {link}`") from error
    if not is_moved and link is None:
        message = f"session `{session.id}` cannot be cancelled: {why}"
        raise StateError(message, f"remove its folder: `rm -r {session.folder}`") from error
    message = f"The agent is free. The end of the workflow could not be recorded ({why}). {told}"
    return SessionReport(session.id, None, State("cancelled"), message)


def _unlink(link: str) -> str | None:
    """Remove a link. If it is a folder, put it aside. What prevents it, or None if it is gone."""
    try:
        os.unlink(link)
    except FileNotFoundError:
        return None
    except OSError as error:
        if not os.path.isdir(link) or os.path.islink(link):
            return f"the link `{link}` cannot be removed: {error.strerror}"
        try:
            put_aside(link, os.path.dirname(os.path.dirname(os.path.dirname(link))))
        except (StateError, OSError) as failed:
            return f"the folder `{link}`, where a link should be, cannot be removed: {failed}"
    return None


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
            link = session.about().link
            with contextlib.suppress(OSError, ValueError):
                if (
                    link is not None
                    and (ref := hook_files.read_link(link)) is not None
                    and ref.folder == session.folder
                ):
                    hook_files.remove_link(link)
            remove_folder(session.folder)
    except StateError:
        return False
    return True
