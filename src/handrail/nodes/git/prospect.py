"""The commit that `git-commit` would make, found with an index and objects aside: the repository stays as it is."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from typing import NamedTuple

from handrail.contracts import NodeError
from handrail.nodes.git.history import MOST_STAT, STAT
from handrail.nodes.git.repository import Repository
from handrail.source.dataclasses import replace

FROM_STDIN = ("--pathspec-from-file=-", "--pathspec-file-nul")


class Prospect(NamedTuple):
    """The tree of a commit, and how it differs from what is checked out."""

    tree: str
    changes: str


async def prospect(repository: Repository, names: Sequence[bytes]) -> Prospect:
    """The tree with these files as they are now; without names, with what is staged."""
    with tempfile.TemporaryDirectory(prefix="handrail-") as folder:
        aside = await _aside(repository, folder)
        head = await repository.head()
        if names:
            await aside.perform("read-tree", *([head] if head else ["--empty"]))
            await aside.perform("--literal-pathspecs", "add", "--all", *FROM_STDIN, stdin=b"\0".join(names))
        tree = (await aside.read("write-tree")).decode().strip()
        empty = (await aside.read("hash-object", "-t", "tree", "--stdin", "-w", stdin=b"")).decode().strip()
        printed = await aside.tell("diff", *STAT, head or empty, tree, "--", most=MOST_STAT)
        changes = printed.data.decode("utf-8", "replace").rstrip()
    if not changes:
        what = "no given file has changed" if names else "nothing is staged"
        raise NodeError("nothing-to-commit", f"there is nothing to commit: {what}", transient=False)
    return Prospect(tree, changes)


async def _aside(repository: Repository, folder: str) -> Repository:
    """The same repository, but what is added goes to a copy of the index and to another folder of objects."""
    index, objects = os.path.join(folder, "index"), os.path.join(folder, "objects")
    paths = (await repository.read("rev-parse", "--git-path", "index", "--git-path", "objects")).split(b"\n")
    real_index, real_objects = (os.path.join(repository.folder, os.fsdecode(path)) for path in paths[:2])
    if os.path.exists(real_index):
        shutil.copyfile(real_index, index)
    os.mkdir(objects)
    env = {
        "GIT_INDEX_FILE": index,
        "GIT_OBJECT_DIRECTORY": objects,
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": real_objects,
    }
    return replace(repository, env={**repository.env, **env})
