"""Checks of this computer, and of Handrail's own files.

Python, Git, free space, and whether a person can be notified; the state folder, locks, sessions, links, runs, and what
killed processes left. Sends nothing.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import stat
import sys
import tempfile
import time

import handrail
from handrail.base.errors import HandrailError, StateError
from handrail.base.files import ASIDE, refuse_shared, upwards
from handrail.base.processes import run
from handrail.doctor.examination import Checkup, Status, Subject, version_of
from handrail.driven.worktrees.git import OLDEST as OLDEST_GIT
from handrail.extensions.contracts import NodeError
from handrail.guided.sessions import hook_files
from handrail.project.notifications import channel_name, program_of_desktop
from handrail.settings.folders import checkout
from handrail.source.plain_text import counted, some
from handrail.steps.services.chat import telegram_bot

OLDEST = (3, 11)
LITTLE, FULL = 1024 * 1024 * 1024, 50 * 1024 * 1024
"""Less free space than this is a warning, or an error."""
FEW = 1000
"""Fewer files than this can still be created: a warning."""
STALE_SECONDS = 600.0
"""Git holds the lock of its index for seconds. One that is this old belongs to a process that was killed."""
SECONDS = 10.0


def python(_subject: Subject) -> Checkup:
    version = ".".join(map(str, sys.version_info[:3]))
    hook_file = os.path.join(handrail.__path__[0], "hook.py")
    if sys.version_info[:2] < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        return Checkup("error", f"Python {version} is too old", f"install Handrail with Python {oldest}")
    for path, mode in ((hook_file, os.R_OK), (sys.executable, os.X_OK)):
        if not os.access(path, mode):
            return Checkup("error", f"`{path}` cannot be used any more", "install Handrail again")
    return Checkup("ok", f"Python {version} at {sys.executable}")


async def git(subject: Subject) -> Checkup:
    app = subject.app
    program = shutil.which("git", path=app.env.get("PATH"))
    if program is None:
        return Checkup("warning", "`git` is not on the PATH", "install Git")
    try:
        version = await version_of(program, app.env)
    except HandrailError as error:
        return Checkup("error", error.message, error.hint)
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < OLDEST_GIT:
        oldest = ".".join(map(str, OLDEST_GIT))
        message = f"Git {version} is older than {oldest}, which worktrees of runs need"
        return Checkup("warning", message, "install a newer Git")
    quoted_path = shlex.quote(app.project)
    env = {**app.env, "LC_ALL": "C", "LANGUAGE": "C"}
    result = await run([program, "rev-parse", "--git-dir"], app.project, env, SECONDS)
    if "dubious ownership" in result.output:
        message = f"Git does not trust the repository of `{app.project}`, because another user owns it"
        return Checkup("error", message, command=f"git config --global --add safe.directory {quoted_path}")
    if result.exit_code != 0:
        message = f"`{app.project}` is not in a Git repository"
        return Checkup("warning", message, command=f"git -C {quoted_path} init")
    return Checkup("ok", f"Git {version} at {program}; the project is in a repository")


async def identity(subject: Subject) -> Checkup:
    """Git needs a name and an address for commits; flows such as `auto` make some."""
    app = subject.app
    program = shutil.which("git", path=app.env.get("PATH"))
    if program is None or checkout(app.project) is None:
        return Checkup("skipped", "there is no repository in which Git could make commits")
    for role in ("AUTHOR", "COMMITTER"):
        result = await run([program, "var", f"GIT_{role}_IDENT"], app.project, app.env, SECONDS)
        if result.exit_code != 0:
            command = "git config --global user.name 'YOUR NAME' && git config --global user.email you@example.com"
            message = f"Git does not know the {role.lower()} of commits, so a flow that commits fails"
            return Checkup("warning", message, command=command)
    return Checkup("ok", "Git knows the author of commits")


def index_lock(subject: Subject) -> Checkup:
    repository = checkout(subject.app.project)
    path = os.path.join(repository.data, "index.lock") if repository is not None else ""
    try:
        age = time.time() - os.lstat(path).st_mtime if path else 0.0
    except OSError:
        age = 0.0
    if age > STALE_SECONDS:
        message = f"`{path}` is {int(age // 60)} minutes old; while it is there, Git refuses to commit"
        fix = f"if no Git is running in this repository, run `rm {shlex.quote(path)}`"
        return Checkup("warning", message, fix, f"rm {shlex.quote(path)}")
    return Checkup("ok", "no lock of Git is left in the repository")


def disk(subject: Subject) -> Checkup:
    app = subject.app
    places = {"the state": app.places.state, "the project": app.project, "temporary files": tempfile.gettempdir()}
    spaces = {place: (path, free) for place, path in places.items() if (free := free_space(path)) is not None}
    statuses = {place: space_status(*free) for place, (_, free) in spaces.items()}
    status: Status = "error" if "error" in statuses.values() else "warning" if "warning" in statuses.values() else "ok"
    if status == "ok":
        smallest = min((free for _, (free, _) in spaces.values()), default=0)
        return Checkup("ok", f"at least {_size(smallest)} free")
    message = "; ".join(_words(place, *spaces[place]) for place, one in statuses.items() if one == status)
    fix = "delete files that you do not need; `handrail prune` shows what it would remove, `--yes` removes it"
    return Checkup(status, message, fix)


def free_space(path: str) -> tuple[int, int | None] | None:
    """The free bytes, and how many files can still be created, where a path is or would be; None if that is not known.

    The number of files is None if the file system has no such limit.
    """
    try:
        status = os.statvfs(next(filter(os.path.exists, upwards(path)), path))
    except OSError:
        return None
    return status.f_bavail * status.f_frsize, status.f_favail if status.f_files else None


def space_status(free: int, files: int | None) -> Status:
    """The status of a file system with so much free space; `ok` if it is enough."""
    if free < FULL or files == 0:
        return "error"
    return "warning" if free < LITTLE or (files is not None and files < FEW) else "ok"


def _words(what: str, path: str, free: tuple[int, int | None]) -> str:
    size, files = free
    few = f" and {files} more files can be created" if files is not None and files < FEW else ""
    return f"only {_size(size)} free for {what} (`{path}`){few}"


def _size(count: int) -> str:
    return f"{count / LITTLE:.1f} GiB" if count >= LITTLE else f"{count // (1024 * 1024)} MiB"


def notify(subject: Subject) -> Checkup:
    """One result for all channels: the first that cannot work, or how many can."""
    channels, env = subject.app.settings.notify, subject.app.run_env
    if not channels:
        return Checkup("skipped", "your settings have no `notify`, so only `handrail ui` tells you of questions")
    for channel in channels:
        if channel.kind == "desktop" and program_of_desktop(env) is None:
            message = "`notify` has `desktop`, but neither `notify-send` nor `osascript` is on the PATH"
            return Checkup("warning", message, "install libnotify, or remove `desktop` from `notify` in your settings")
        if channel.kind == "command" and shutil.which(channel.argv[0], path=env.get("PATH")) is None:
            message = f"`notify` has the program `{channel.argv[0]}`, which cannot be started"
            message += ": it is not there or not executable"
            return Checkup("warning", message, "install it, or correct `notify` in your settings")
        if channel.kind == "telegram":
            try:
                telegram_bot(env)
            except NodeError as error:
                return Checkup("warning", error.message, "set it, or remove `telegram` from `notify` in your settings")
    names = ", ".join(channel_name(one) for one in channels)
    untried = "; whether an address answers was not tried" if any(one.url for one in channels) else ""
    return Checkup("ok", f"you are told by {names}{untried}")


NEW = ".new"
"""The ending of a file that is being written. One that is left belongs to a process that was killed."""
NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs", "ncpfs")
"""File systems on which locks between computers may not work."""
MOUNTS = "/proc/self/mounts"


def folder(subject: Subject) -> Checkup:
    path = subject.app.places.state
    quoted_path = shlex.quote(path)
    try:
        refuse_shared(path)
    except StateError as error:
        command = f"chmod 700 {quoted_path}" if "chmod" in (error.hint or "") else None
        return Checkup("error", error.message, error.hint, command)
    if not os.path.isdir(path):
        above = next(filter(os.path.lexists, upwards(path)))
        if os.access(above, os.W_OK | os.X_OK):
            return Checkup("ok", f"`{path}` does not exist yet; it is created when it is needed")
        message = f"`{path}` cannot be created: `{above}` cannot be written"
        return Checkup("error", message, command=f"chmod u+rwx {shlex.quote(above)}")
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        fix = "make it writable, or set HANDRAIL_HOME to a folder on another disk"
        return Checkup("error", f"`{path}` is on a file system that is mounted read-only", fix)
    mode = os.stat(path).st_mode
    if mode & stat.S_IRWXU != stat.S_IRWXU or not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return Checkup("error", f"`{path}` cannot be written", command=f"chmod u+rwx {quoted_path}")
    if mode & 0o077:
        return Checkup("warning", f"other users can read `{path}`", command=f"chmod 700 {quoted_path}")
    return Checkup("ok", f"`{path}` is writable and private")


def locks(subject: Subject) -> Checkup:
    """Try a lock on the state folder itself: that needs no new file."""
    path = subject.app.places.state
    if not os.path.isdir(path):
        return Checkup("skipped", "the state folder does not exist yet")
    cure = "set HANDRAIL_HOME to a folder on a local disk"
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError as error:
        command = f"chmod u+rwx {shlex.quote(path)}"
        return Checkup("error", f"`{path}` cannot be opened: {error.strerror}", command=command)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        pass  # somebody else holds it, so locks work
    except OSError as error:
        return Checkup("error", f"locks do not work in `{path}`: {error.strerror}", cure)
    finally:
        os.close(handle)
    bad = [name for name in _lock_files(path) if not os.access(name, os.R_OK | os.W_OK) or not os.path.isfile(name)]
    if bad:
        message = f"locks that cannot be opened: {some(bad, 3)}"
        return Checkup("error", message, command=f"rm -r {' '.join(map(shlex.quote, bad))}")
    try:
        with open(MOUNTS, encoding="utf-8", errors="replace") as file:
            kind = file_system(path, file.read())
    except OSError:  # a system without this file
        kind = None
    if kind in NETWORK:
        message = f"`{path}` is on a network file system ({kind}); locks may not hold between computers"
        return Checkup("warning", message, cure)
    return Checkup("ok", "locks work in the state folder")


def _lock_files(path: str) -> list[str]:
    """The files named `lock` or `*.lock` below the folders of sessions, runs and scopes."""
    paths = []
    for top in ("sessions", "runs", "scopes", "worktrees"):
        for at, folders, names in os.walk(os.path.join(path, top)):
            paths += [os.path.join(at, name) for name in (*names, *folders) if name == "lock" or name.endswith(".lock")]
    return paths


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


def sessions(subject: Subject) -> Checkup:
    reports = subject.app.sessions.reports()
    bad = [report.session for report in reports if report.refusal]
    if bad:
        command = f"handrail cancel --yes --session {shlex.quote(bad[0])}"
        fix = f"`{command}` frees the conversation and puts the session aside"
        return Checkup("error", f"cannot be read: {some(bad)}", fix, command)
    active = sum(report.state.is_active for report in reports)
    return Checkup("ok", f"{counted(len(reports), 'session')}, {active or 'none'} active")


def links(subject: Subject) -> Checkup:
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
        return Checkup("warning", message, command=f"rm {' '.join(map(shlex.quote, bad))}")
    return Checkup("ok", "every linked conversation has its session")


def runs(subject: Subject) -> Checkup:
    summaries = subject.app.runs.engine.summaries()
    bad = [row.id for row in summaries if row.status == "damaged"]
    if bad:
        command = "handrail prune --damaged --yes"
        fix = f"`{command}` moves damaged runs away; nothing is deleted"
        return Checkup("error", f"cannot be read: {some(bad)}", fix, command)
    return Checkup("ok", counted(len(summaries), "run"))


def leftovers(subject: Subject) -> Checkup:
    places = subject.app.places
    new_files, aside_folder = [], os.path.join(places.state, ASIDE)
    for at, folders, names in os.walk(places.state):
        folders[:] = [name for name in folders if os.path.join(at, name) not in (places.trees, aside_folder)]
        new_files += [os.path.join(at, name) for name in names if name.endswith(NEW)]
    aside_count = len(os.listdir(aside_folder)) if os.path.isdir(aside_folder) else 0
    if new_files:
        command = f"rm {' '.join(map(shlex.quote, new_files))}"
        return Checkup("warning", f"unfinished files of killed processes: {some(new_files, 3)}", command=command)
    if aside_count:
        return Checkup("ok", f"{counted(aside_count, 'damaged thing')} put aside in `{aside_folder}`")
    return Checkup("ok", "nothing is left over")


async def worktrees(subject: Subject) -> Checkup:
    app = subject.app
    if app.worktrees.is_empty:
        return Checkup("ok", "no run has a worktree")
    try:
        ids = frozenset(app.runs.engine.ids())
        leftovers = await app.worktrees.leftovers(ids.__contains__)
    except HandrailError as error:
        return Checkup("error", error.message, error.hint)
    removable = [one.words for one in leftovers if one.work is None]
    if removable:
        return Checkup("warning", f"left over: {some(removable, 3)}", command="handrail prune --yes")
    if leftovers:
        fix = "`handrail worktrees` and `git branch` show them; merge or delete them by hand"
        return Checkup("warning", f"left over: {some([one.words for one in leftovers], 3)}", fix)
    return Checkup("ok", counted(len(app.worktrees.trees.of_project(app.project)), "worktree"))
