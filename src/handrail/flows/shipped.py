"""The flows that Handrail ships. The file of a flow is read only if something names the flow: reading all takes long.

What a list of them shows is at the top of each file, so no file has to be understood for it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

ENDING = ".yaml"
SOURCE = "builtin"
INSIDE = "builtin:"
"""Begins the id of a shipped flow inside others, if a flow of the project or the user has its id."""
_HEAD = re.compile(r"^(description|catalogVisibility): (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """A shipped flow in a list."""

    id: str
    description: str
    visible: bool


class Shipped:
    """The folder of the shipped flows."""

    def __init__(self, root: str) -> None:
        self.root = root

    @cached_property
    def files(self) -> Mapping[str, str]:
        """The file of each flow, by the id of the flow."""
        walked = (os.path.join(folder, name) for folder, _, names in os.walk(self.root) for name in names)
        found = {os.path.relpath(file, self.root)[: -len(ENDING)]: file for file in walked if file.endswith(ENDING)}
        return dict(sorted(found.items()))

    def named(self, name: str) -> str | None:
        """The id of the flow with this id, or with this file name: `plan`, `plan.json` and `plan.yaml` are the same."""
        bare = os.path.splitext(name)[0] if name.endswith((".json", ".yaml", ".yml")) else name
        if bare in self.files:
            return bare
        same = [id_ for id_ in self.files if os.path.basename(id_) == bare]
        return same[0] if len(same) == 1 else None

    def entries(self) -> list[Entry]:
        return [_entry(id_, file) for id_, file in self.files.items()]


def _entry(id_: str, file: str) -> Entry:
    with open(file, encoding="utf-8") as opened:
        head = dict(_HEAD.findall(opened.read(1_000)))
    about = head.get("description", "")
    return Entry(id_, json.loads(about) if about.startswith('"') else about, head.get("catalogVisibility") != "hidden")
