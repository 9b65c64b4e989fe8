"""Checks of this computer: Python, Git, free space, and whether a person can be notified. Sends nothing."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator

import handrail
from handrail.base.errors import HandrailError
from handrail.base.processes import run
from handrail.doctor.examination import Checkup, Status, Subject, version_of
from handrail.driven.worktrees.git import OLDEST as OLDEST_GIT
from handrail.project.notifications import channel_name, program_of_desktop
from handrail.settings.folders import checkout
from handrail.settings.sections import Channel

OLDEST = (3, 11)
LITTLE, FULL = 1024 * 1024 * 1024, 50 * 1024 * 1024
"""Less free space than this is a warning, or an error."""
FEW = 1000
"""Fewer files than this can still be created: a warning."""
STALE_SECONDS = 600.0
"""Git holds the lock of its index for seconds. One that is this old belongs to a process that was killed."""
SECONDS = 10.0


def python(subject: Subject) -> Iterator[Checkup]:
    del subject
    version = ".".join(map(str, sys.version_info[:3]))
    own = os.path.join(handrail.__path__[0], "hook.py")
    if sys.version_info[:2] < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        yield Checkup("python", "error", f"Python {version} is too old", f"install Handrail with Python {wanted}")
    elif not os.access(own, os.R_OK) or not os.access(sys.executable, os.X_OK):
        gone = own if not os.access(own, os.R_OK) else sys.executable
        yield Checkup("python", "error", f"`{gone}` cannot be used any more", "install Handrail again")
    else:
        yield Checkup("python", "ok", f"Python {version} at {sys.executable}")


async def git(subject: Subject) -> list[Checkup]:
    app = subject.app
    program = shutil.which("git", path=app.env.get("PATH"))
    if program is None:
        return [Checkup("git", "warning", "`git` is not on the PATH", "install Git")]
    try:
        version = await version_of(program, app.env)
    except HandrailError as error:
        return [Checkup("git", "error", error.message, error.hint)]
    if _numbers(version) < OLDEST_GIT:
        wanted = ".".join(map(str, OLDEST_GIT))
        message = f"Git {version} is older than {wanted}, which worktrees of runs need"
        return [Checkup("git", "warning", message, "install a newer Git")]
    quoted = shlex.quote(app.project)
    env = {**app.env, "LC_ALL": "C", "LANGUAGE": "C"}
    ended = await run([program, "rev-parse", "--git-dir"], app.project, env, SECONDS)
    if "dubious ownership" in ended.output:
        message = f"Git does not trust the repository of `{app.project}`, because another user owns it"
        return [Checkup("git", "error", message, command=f"git config --global --add safe.directory {quoted}")]
    if ended.exit_code != 0:
        message = f"`{app.project}` is not in a Git repository"
        return [Checkup("git", "warning", message, command=f"git -C {quoted} init")]
    return [Checkup("git", "ok", f"Git {version} at {program}; the project is in a repository")]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


async def identity(subject: Subject) -> list[Checkup]:
    """Git needs a name and an address for commits; flows such as `auto` make some."""
    app = subject.app
    program = shutil.which("git", path=app.env.get("PATH"))
    if program is None or checkout(app.project) is None:
        return [Checkup("identity", "skipped", "there is no repository in which Git could make commits")]
    for who in ("AUTHOR", "COMMITTER"):
        ended = await run([program, "var", f"GIT_{who}_IDENT"], app.project, app.env, SECONDS)
        if ended.exit_code != 0:
            command = "git config --global user.name 'YOUR NAME' && git config --global user.email you@example.com"
            message = f"Git does not know the {who.lower()} of commits, so a flow that commits fails"
            return [Checkup("identity", "warning", message, command=command)]
    return [Checkup("identity", "ok", "Git knows the author of commits")]


def index_lock(subject: Subject) -> Iterator[Checkup]:
    found = checkout(subject.app.project)
    path = os.path.join(found.data, "index.lock") if found is not None else ""
    try:
        age = time.time() - os.lstat(path).st_mtime if path else 0.0
    except OSError:
        age = 0.0
    if age > STALE_SECONDS:
        message = f"`{path}` is {int(age // 60)} minutes old; while it is there, Git refuses to commit"
        fix = f"if no Git is running in this repository, run `rm {shlex.quote(path)}`"
        yield Checkup("index-lock", "warning", message, fix, f"rm {shlex.quote(path)}")
    else:
        yield Checkup("index-lock", "ok", "no lock of Git is left in the repository")


def disk(subject: Subject) -> Iterator[Checkup]:
    app = subject.app
    places = {"the state": app.places.state, "the project": app.project, "temporary files": tempfile.gettempdir()}
    known = {what: (path, free) for what, path in places.items() if (free := free_space(path)) is not None}
    judged = {what: space_status(*free) for what, (_, free) in known.items()}
    status: Status = "error" if "error" in judged.values() else "warning" if "warning" in judged.values() else "ok"
    if status == "ok":
        least = min((free for _, (free, _) in known.values()), default=0)
        yield Checkup("disk", "ok", f"at least {_size(least)} free")
    else:
        message = "; ".join(_words(what, *known[what]) for what, one in judged.items() if one == status)
        fix = "delete files that you do not need; `handrail prune` shows what it would remove, `--yes` removes it"
        yield Checkup("disk", status, message, fix)


def free_space(path: str) -> tuple[int, int | None] | None:
    """The free bytes, and how many files can still be created, where a path is or would be; None if that is not known.

    The number of files is None if the file system has no such limit.
    """
    while not os.path.exists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize, found.f_favail if found.f_files else None


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


def notify(subject: Subject) -> Iterator[Checkup]:
    """One result for all channels: the first that cannot work, or how many can."""
    channels, env = subject.app.settings.notify, subject.app.run_env
    if not channels:
        yield Checkup(
            "notify", "skipped", "your settings have no `notify`, so only `handrail ui` tells you of questions"
        )
        return
    path = env.get("PATH")
    wrong = next(
        (found for one in channels if (found := _wrong_channel(one, path, program_of_desktop(env))) is not None), None
    )
    if wrong is not None:
        yield wrong
        return
    names = ", ".join(channel_name(one) for one in channels)
    untried = "; whether a webhook answers was not tried" if any(one.kind == "webhook" for one in channels) else ""
    yield Checkup("notify", "ok", f"you are told by {names}{untried}")


def _wrong_channel(channel: Channel, path: str | None, desktop: str | None) -> Checkup | None:
    if channel.kind == "desktop" and desktop is None:
        message = "`notify` has `desktop`, but neither `notify-send` nor `osascript` is on the PATH"
        return Checkup(
            "notify", "warning", message, "install libnotify, or remove `desktop` from `notify` in your settings"
        )
    if channel.kind == "command" and shutil.which(channel.argv[0], path=path) is None:
        message = (
            f"`notify` has the program `{channel.argv[0]}`, which cannot be started: it is not there or not executable"
        )
        return Checkup("notify", "warning", message, "install it, or correct `notify` in your settings")
    return None
