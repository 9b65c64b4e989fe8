"""Checks of Handrail's own files: the state folder, locks, sessions, links, runs, and what killed processes left."""

from __future__ import annotations

import fcntl
import os
import shlex
import stat
from collections.abc import Iterator

from handrail.base.errors import HandrailError, StateError
from handrail.base.files import ASIDE, refuse_shared
from handrail.doctor.examination import Checkup, Subject
from handrail.guided.sessions import hook_files
from handrail.source.plain_text import counted, some

NEW = ".new"
"""The ending of a file that is being written. One that is left belongs to a process that was killed."""
NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs", "ncpfs")
"""File systems on which locks between computers may not work."""
MOUNTS = "/proc/self/mounts"


def folder(subject: Subject) -> Iterator[Checkup]:
    path = subject.app.places.state
    quoted = shlex.quote(path)
    try:
        refuse_shared(path)
    except StateError as error:
        command = f"chmod 700 {quoted}" if "chmod" in (error.hint or "") else None
        yield Checkup("state", "error", error.message, error.hint, command)
        return
    if not os.path.isdir(path):
        above = path
        while not os.path.lexists(above):
            above = os.path.dirname(above)
        if not os.access(above, os.W_OK | os.X_OK):
            message = f"`{path}` cannot be created: `{above}` cannot be written"
            yield Checkup("state", "error", message, command=f"chmod u+rwx {shlex.quote(above)}")
        else:
            yield Checkup("state", "ok", f"`{path}` does not exist yet; it is created when it is needed")
    elif is_read_only(path):
        fix = "make it writable, or set HANDRAIL_HOME to a folder on another disk"
        yield Checkup("state", "error", f"`{path}` is on a file system that is mounted read-only", fix)
    elif not _is_usable(path):
        yield Checkup("state", "error", f"`{path}` cannot be written", command=f"chmod u+rwx {quoted}")
    elif stat.S_IMODE(os.stat(path).st_mode) & 0o077:
        yield Checkup("state", "warning", f"other users can read `{path}`", command=f"chmod 700 {quoted}")
    else:
        yield Checkup("state", "ok", f"`{path}` is writable and private")


def _is_usable(path: str) -> bool:
    """True if the mode lets the owner do everything. The superuser may in any case."""
    wanted = stat.S_IRWXU
    return os.stat(path).st_mode & wanted == wanted and os.access(path, os.R_OK | os.W_OK | os.X_OK)


def is_read_only(path: str) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def locks(subject: Subject) -> Iterator[Checkup]:
    """Try a lock on the state folder itself: that needs no new file."""
    path = subject.app.places.state
    if not os.path.isdir(path):
        yield Checkup("locks", "skipped", "the state folder does not exist yet")
        return
    cure = "set HANDRAIL_HOME to a folder on a local disk"
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError as error:
        yield Checkup(
            "locks", "error", f"`{path}` cannot be opened: {error.strerror}", command=f"chmod u+rwx {shlex.quote(path)}"
        )
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        pass  # somebody else holds it, so locks work
    except OSError as error:
        yield Checkup("locks", "error", f"locks do not work in `{path}`: {error.strerror}", cure)
        return
    finally:
        os.close(handle)
    bad = [name for name in _lock_files(path) if not os.access(name, os.R_OK | os.W_OK) or not os.path.isfile(name)]
    if bad:
        message = f"locks that cannot be opened: {some(bad, 3)}"
        yield Checkup("locks", "error", message, command=f"rm -r {' '.join(map(shlex.quote, bad))}")
        return
    kind = file_system(path, _mounts())
    if kind in NETWORK:
        message = f"`{path}` is on a network file system ({kind}); locks may not hold between computers"
        yield Checkup("locks", "warning", message, cure)
    else:
        yield Checkup("locks", "ok", "locks work in the state folder")


def _lock_files(path: str) -> list[str]:
    """The files named `lock` or `*.lock` below the folders of sessions, runs and scopes."""
    found = []
    for top in ("sessions", "runs", "scopes", "worktrees"):
        for at, folders, names in os.walk(os.path.join(path, top)):
            found += [os.path.join(at, name) for name in (*names, *folders) if name == "lock" or name.endswith(".lock")]
    return found


def _mounts() -> str:
    try:
        with open(MOUNTS, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:  # a system without this file
        return ""


def file_system(path: str, mounts: str) -> str | None:
    """The kind of the file system that a path is on, from the system's list of mounts; None if the list is empty."""
    real, best, kind = os.path.realpath(path) + "/", "", None
    for line in mounts.splitlines():
        parts = line.split(" ")
        if len(parts) > 2:
            at = parts[1].replace("\\040", " ").rstrip("/") + "/"
            if real.startswith(at) and len(at) >= len(best):
                best, kind = at, parts[2]
    return kind


def sessions(subject: Subject) -> Iterator[Checkup]:
    reports = subject.app.sessions.reports()
    bad = [report.session for report in reports if report.refusal]
    if bad:
        command = f"handrail cancel --yes --session {shlex.quote(bad[0])}"
        fix = f"`{command}` frees the conversation and puts the session aside"
        yield Checkup("sessions", "error", f"cannot be read: {some(bad)}", fix, command)
    else:
        active = sum(report.state.is_active for report in reports)
        yield Checkup("sessions", "ok", f"{counted(len(reports), 'session')}, {active or 'none'} active")


def links(subject: Subject) -> Iterator[Checkup]:
    """A conversation whose link is damaged, or leads to no session, stays blocked until the link is removed."""
    places, bad = subject.app.places, []
    for agent in subject.app.registry.hosts():
        top = os.path.join(places.state, "hosts", agent)
        for name in sorted(os.listdir(top)) if os.path.isdir(top) else []:
            path = os.path.join(top, name)
            try:
                ref = hook_files.read_link(path)
            except hook_files.UnsettledFork:
                continue
            except (ValueError, OSError):
                bad.append(path)
            else:
                bad += [path] if ref is not None and not os.path.isdir(ref.folder) else []
    if bad:
        message = f"links of conversations that lead to no session: {some(bad, 3)}"
        yield Checkup("links", "warning", message, command=f"rm {' '.join(map(shlex.quote, bad))}")
    else:
        yield Checkup("links", "ok", "every linked conversation has its session")


def runs(subject: Subject) -> Iterator[Checkup]:
    found = subject.app.runs.summaries()
    bad = [row.id for row in found if row.status == "damaged"]
    if bad:
        command = "handrail prune --damaged --yes"
        fix = f"`{command}` moves damaged runs away; nothing is deleted"
        yield Checkup("runs", "error", f"cannot be read: {some(bad)}", fix, command)
    else:
        yield Checkup("runs", "ok", counted(len(found), "run"))


def leftovers(subject: Subject) -> Iterator[Checkup]:
    """Files of processes that were killed, and what was put aside."""
    places = subject.app.places
    left, aside = [], os.path.join(places.state, ASIDE)
    for at, folders, names in os.walk(places.state):
        folders[:] = [name for name in folders if os.path.join(at, name) not in (places.trees, aside)]
        left += [os.path.join(at, name) for name in names if name.endswith(NEW)]
    kept = len(os.listdir(aside)) if os.path.isdir(aside) else 0
    if left:
        command = f"rm {' '.join(map(shlex.quote, left))}"
        yield Checkup("leftovers", "warning", f"unfinished files of killed processes: {some(left, 3)}", command=command)
    elif kept:
        yield Checkup("leftovers", "ok", f"{counted(kept, 'damaged thing')} put aside in `{aside}`")
    else:
        yield Checkup("leftovers", "ok", "nothing is left over")


async def worktrees(subject: Subject) -> list[Checkup]:
    """Worktrees of runs, and what kills left of them."""
    app = subject.app
    if app.worktrees.is_empty:
        return [Checkup("worktrees", "ok", "no run has a worktree")]
    try:
        ids = frozenset(app.runs.ids())
        left = await app.worktrees.leftovers(ids.__contains__)
    except HandrailError as error:
        return [Checkup("worktrees", "error", error.message, error.hint)]
    free = [one.words for one in left if one.work is None]
    if free:
        return [Checkup("worktrees", "warning", f"left over: {some(free, 3)}", command="handrail prune --yes")]
    if left:
        fix = "`handrail worktrees` and `git branch` show them; merge or delete them by hand"
        return [Checkup("worktrees", "warning", f"left over: {some([one.words for one in left], 3)}", fix)]
    return [Checkup("worktrees", "ok", counted(len(app.worktrees.trees.of_project(app.project)), "worktree"))]
