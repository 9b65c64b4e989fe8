"""Finds the flow files below a folder, and the flows that Handrail ships.

The file of a shipped flow is read only if something names the flow: reading all takes long. What a list of them shows
is at the top of each file, so no file has to be understood for it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import cached_property

from handrail.base.dataclasses import dataclass
from handrail.source.diagnostics import Diagnostic, file_problem

ENDINGS = (".json", ".yaml", ".yml")
MAX_FLOWS = 5_000
MAX_FOLDERS = 20_000


def flow_files(path: str, problems: list[Diagnostic]) -> list[str]:
    """All flow files below a folder, sorted by path. Links to folders are not followed."""

    def unreadable(error: OSError) -> None:
        message = f"the folder cannot be listed: {error.strerror or type(error).__name__}"
        hint = "change its permissions, or move it elsewhere"
        problems.append(file_problem("folder-unreadable", str(error.filename), message, hint))

    files: list[str] = []
    for count, (folder, folders, names) in enumerate(os.walk(path, onerror=unreadable) if os.path.isdir(path) else ()):
        if count == MAX_FOLDERS or len(files) > MAX_FLOWS:
            message = f"there are more than {MAX_FLOWS} flows or {MAX_FOLDERS} folders here; the others are ignored"
            problems.append(file_problem("too-many-folders", path, message, "keep only flows here"))
            return sorted(files)[:MAX_FLOWS]
        for link in (os.path.join(folder, name) for name in folders):
            if os.path.islink(link):
                message = f"`{os.path.basename(link)}` is a link to a folder and is not followed"
                hint = "copy or move the folder here"
                problems.append(file_problem("folder-link", link, message, hint, severity="warning"))
        files += [os.path.join(folder, name) for name in names if name.endswith(ENDINGS)]
    return sorted(files)


def is_flow_file(path: str) -> bool:
    """True if a path that a person names is a flow file."""
    return path.endswith(ENDINGS) and os.path.basename(path) != "workflow.yaml" and os.path.isfile(path)


SHIPPED_ENDING = ".yaml"
SHIPPED_SOURCE = "builtin"
SHIPPED_PREFIX = "builtin:"
"""Begins the id of a shipped flow inside others, if a flow of the project or the user has its id."""
_HEAD = re.compile(r"^(description|also|catalogVisibility): (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class ShippedFlow:
    """A shipped flow in a list. `also` are its other ids."""

    id: str
    description: str
    visible: bool
    also: tuple[str, ...] = ()


class ShippedFlows:
    def __init__(self, root: str) -> None:
        self.root = root

    @cached_property
    def files(self) -> Mapping[str, str]:
        """The file of each flow, by the id of the flow."""
        walked = (os.path.join(folder, name) for folder, _, names in os.walk(self.root) for name in names)
        ids = ((os.path.relpath(file, self.root).removesuffix(SHIPPED_ENDING), file) for file in walked)
        return dict(sorted((id_, file) for id_, file in ids if file.endswith(SHIPPED_ENDING)))

    def named(self, name: str) -> str | None:
        """The id of the flow with this id, this other id, or this last part of one of them.

        `plan`, `plan.json` and `plan.yaml` are the same.
        """
        bare = os.path.splitext(name)[0] if name.endswith((".json", ".yaml", ".yml")) else name
        if (id_ := self.id_of(bare)) is not None:
            return id_
        same = {id_ for other, id_ in self.also.items() if os.path.basename(other) == bare}
        same |= {id_ for id_ in self.files if os.path.basename(id_) == bare}
        return same.pop() if len(same) == 1 else None

    def id_of(self, id_: str) -> str | None:
        """The id of the flow that has this id, or this other id."""
        return id_ if id_ in self.files else self.also.get(id_)

    @cached_property
    def also(self) -> Mapping[str, str]:
        """Other ids of flows, each with the id of its flow."""
        return {other: entry.id for entry in self.entries() for other in entry.also}

    def entries(self) -> list[ShippedFlow]:
        return [_entry(id_, file) for id_, file in self.files.items()]


def _entry(id_: str, file: str) -> ShippedFlow:
    with open(file, encoding="utf-8") as opened:
        head = dict(_HEAD.findall(opened.read(1_000)))
    about, also = head.get("description", ""), head.get("also", "[]")
    return ShippedFlow(
        id_,
        json.loads(about) if about.startswith('"') else about,
        head.get("catalogVisibility") != "hidden",
        tuple(filter(None, also.strip("[]").split(", "))),
    )
