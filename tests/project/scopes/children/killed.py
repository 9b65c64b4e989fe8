"""Kills a reset before each of its operations on files, and tells what was left each time.

Usage: python killed.py FOLDER [no-exchange]. Prints what there is before and after a reset, then a JSON list per place.
A process is forked for each place; it kills itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sys
from pathlib import Path

from handrail.project import scope_archives

WATCHED = {"os.mkdir", "os.link", "os.rename", "os.remove", "os.rmdir", "os.symlink", "ctypes.dlsym", "os.utime"}
FILES = {
    "plan-k-1.md": "# plan",
    "notes/a.txt": "a",
    ".artifacts/plan-k-1.json": "{}",
    ".artifacts/jira-attachments/x.txt": "x",
    ".artifacts/restart-archives/attempt-0001/workspace/old.md": "old",
}


def build(scope: Path) -> None:
    for name, text in FILES.items():
        path = scope / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (scope / "link").symlink_to("plan-k-1.md")


def tree(folder: Path) -> str | None:
    """The digest of all names and contents below a folder. None if there is no folder."""
    if not folder.is_dir():
        return None
    found = [
        f"{path.relative_to(folder)} {os.readlink(path) if path.is_symlink() else path.read_text()}"
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    ]
    return hashlib.sha256("\n".join(found).encode()).hexdigest()[:12]


def kill_before(at: int) -> None:
    """Let this process kill itself before its operation number `at`. With 0, count them in an exit code."""
    count = 0

    def watch(event: str, _: object) -> None:
        nonlocal count
        if event in WATCHED:
            count += 1
            if count == at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    scope_archives.archive_folder(str(SCOPE))
    os._exit(count)


def attempt(at: int) -> int:
    """Run a reset in a fork. Returns the number of its operations, or 0 if it was killed."""
    pid = os.fork()
    if pid == 0:
        kill_before(at)
    status = os.waitpid(pid, 0)[1]
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0


def try_place(at: int) -> list[object]:
    """What was left after the kill, what is there after `settle`, and whether anything lies beside the scope then."""
    shutil.rmtree(SCOPE.parent)
    build(SCOPE)
    assert attempt(at) == 0
    left = tree(SCOPE)
    scope_archives.settle(str(SCOPE))
    return [at, left, tree(SCOPE), [path.name for path in SCOPE.parent.iterdir() if path != SCOPE]]


SCOPE = Path(sys.argv[1]) / "scopes" / "k"
if "no-exchange" in sys.argv:
    vars(scope_archives)["exchange"] = lambda *_: False
build(SCOPE)
before = tree(SCOPE)
total = attempt(0)
print(json.dumps({"before": before, "after": tree(SCOPE), "total": total}))
for place in range(1, total + 1):
    print(json.dumps(try_place(place)))
