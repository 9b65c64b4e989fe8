"""Archives the folder of a scope, and restores an archive.

An archive has the form of AgentWeaver: `restart-archives/attempt-NNNN/{workspace,artifacts}` in `.artifacts` of the
scope. A new folder with the archive is built beside the scope and synced; then both are exchanged in one step, and the
old one is removed. If the process is killed, there is either the old state or the archive, never a mixture. If the
system cannot exchange folders, the scope has no folder for a moment; `settle` then finishes the work.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from handrail.base.errors import NotFound, RefusedError, StateError
from handrail.base.files import entries, exchange, sync_folder
from handrail.project.agentweaver_files import ARCHIVES, INNER
from handrail.source.plain_text import some

WORKSPACE, ARTIFACTS = "workspace", "artifacts"
_ATTEMPT = re.compile(r"attempt-([0-9]{4,9})\Z")
_NEW, _OLD = ".handrail-new", ".handrail-old"
PlaceFile = Callable[[str, str], None]


def attempts(scope: str) -> list[str]:
    """The paths of the archives in the folder of a scope, the oldest first."""
    paths = [entry.path for entry in entries(_archives(scope)) if _ATTEMPT.match(entry.name)]
    return sorted(paths, key=_number)


def archive_named(name: str, paths: list[str]) -> str | None:
    """The path of the archive `1`, `0001` or `attempt-0001`. None if there is none."""
    number = name.removeprefix("attempt-")
    return next((path for path in paths if number.isdecimal() and int(number) == _number(path)), None)


def unknown_archive(name: str, paths: list[str]) -> NotFound:
    names = some([os.path.basename(path) for path in paths])
    return NotFound(f"this scope has no archive `{name}`", f"its archives: {names}" if paths else None)


def contents(scope: str) -> list[os.DirEntry[str]]:
    """What a reset archives: all entries of the workspace and of `.artifacts`, but not the archives."""
    inner = [entry for entry in entries(os.path.join(scope, INNER)) if entry.name != ARCHIVES]
    return [entry for entry in entries(scope) if entry.name != INNER] + inner


def next_attempt(scope: str) -> str:
    number = max(map(_number, attempts(scope)), default=0)
    return os.path.join(_archives(scope), f"attempt-{number + 1:04d}")


def archive_folder(scope: str) -> str:
    """Move everything of a scope into its next archive, and return the path of the archive."""
    refuse_link(scope)
    settle(scope)
    path = next_attempt(scope)
    new = _sibling_path(scope, _NEW)
    into = os.path.join(new, os.path.relpath(path, scope))
    with _folder_to_fill(new, scope):
        _copy(_archives(scope), _archives(new), link_file)
        _copy(scope, os.path.join(into, WORKSPACE), link_file, without=INNER)
        _copy(os.path.join(scope, INNER), os.path.join(into, ARTIFACTS), link_file, without=ARCHIVES)
    _swap(scope, new)
    return path


def restore_folder(scope: str, attempt: str) -> str:
    """Put an archive back into an empty scope. The archive stays. Returns its path."""
    refuse_link(scope)
    settle(scope)
    path = archive_named(attempt, attempts(scope))
    if path is None:
        raise unknown_archive(attempt, attempts(scope))
    if contents(scope):
        hint = "reset it first: that archives what it has"
        raise RefusedError("the scope is not empty, so nothing is restored", hint)
    new = _sibling_path(scope, _NEW)
    with _folder_to_fill(new, scope):
        _copy(_archives(scope), _archives(new), link_file)
        _copy(os.path.join(path, WORKSPACE), new, copy_file)
        _copy(os.path.join(path, ARTIFACTS), os.path.join(new, INNER), copy_file)
    _swap(scope, new)
    return path


def is_unsettled(scope: str) -> bool:
    """True if a killed process left a scope without its folder."""
    return not os.path.lexists(scope) and os.path.lexists(_sibling_path(scope, _OLD))


def settle(scope: str) -> None:
    """Finish or undo what a killed process left beside a scope. The caller holds the lock of the scope."""
    new, old = _sibling_path(scope, _NEW), _sibling_path(scope, _OLD)
    if is_unsettled(scope):
        os.rename(new if os.path.lexists(new) else old, scope)
        sync_folder(os.path.dirname(scope))
    for path in (new, old):
        _remove(path)


def refuse_link(scope: str) -> None:
    """Raise `RefusedError` if the folder of a scope, or its inner one, is a link: it would lead elsewhere."""
    for path in (os.path.dirname(scope), scope, os.path.join(scope, INNER), _archives(scope)):
        if os.path.islink(path):
            raise RefusedError(f"`{path}` is a link, so it is left alone", "replace it with the folder itself")


def _archives(scope: str) -> str:
    return os.path.join(scope, INNER, ARCHIVES)


def _number(path: str) -> int:
    match = _ATTEMPT.match(os.path.basename(path))
    return int(match[1]) if match else 0


def _sibling_path(scope: str, ending: str) -> str:
    folder, name = os.path.split(scope)
    return os.path.join(folder, f".{name}{ending}")


@contextmanager
def _folder_to_fill(new: str, scope: str) -> Iterator[None]:
    """Build a new folder: synced in the end, and removed if something fails."""
    try:
        os.makedirs(_archives(new))
        shutil.copystat(scope, new)
        yield
        for folder, _, _ in os.walk(new):
            sync_folder(folder)
        sync_folder(os.path.dirname(new))
    except OSError as error:
        _remove(new)
        hint = "free some space or correct the permissions, then run the command again; nothing was changed"
        raise StateError(f"the archive of `{scope}` cannot be written: {error.strerror or error}", hint) from error
    except BaseException:
        _remove(new)
        raise


def _swap(scope: str, new: str) -> None:
    """Let the new folder be the scope, and remove the old one."""
    parent = os.path.dirname(scope)
    if exchange(scope, new):
        sync_folder(parent)
        _remove(new)
        return
    old = _sibling_path(scope, _OLD)
    os.rename(scope, old)
    os.rename(new, scope)
    sync_folder(parent)
    _remove(old)


def _copy(source: str, target: str, place: PlaceFile, without: str = "") -> None:
    """Bring a folder with all that is below it to a new place. Links are not followed."""
    if os.path.islink(source) or not os.path.isdir(source):
        return
    os.makedirs(target, exist_ok=True)
    with os.scandir(source) as listing:
        kept_entries = [entry for entry in listing if entry.name != without]
    for entry in kept_entries:
        copy = os.path.join(target, entry.name)
        if entry.is_dir(follow_symlinks=False):
            _copy(entry.path, copy, place)
        else:
            place(entry.path, copy)
    shutil.copystat(source, target)


def link_file(source: str, target: str) -> None:
    """The same file under a second name; a copy if the file system has no such names."""
    try:
        os.link(source, target, follow_symlinks=False)
    except (OSError, NotImplementedError):
        copy_file(source, target)


def copy_file(source: str, target: str) -> None:
    """A copy of a file with its times and permissions, on the disk. A link is copied as a link."""
    shutil.copy2(source, target, follow_symlinks=False)
    if not os.path.islink(target):
        handle = os.open(target, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _remove(path: str) -> None:
    if os.path.lexists(path):
        shutil.rmtree(path)
        sync_folder(os.path.dirname(path))
