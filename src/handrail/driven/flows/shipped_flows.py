"""The flows that Handrail ships: their files, their ids and other ids, and what a list of them shows.

Reading all of them takes long, so the file of a shipped flow is read only if something names the flow. A list needs
only the first lines of each file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import cached_property

from handrail.base.dataclasses import dataclass

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
        paths = (os.path.join(folder, name) for folder, _, names in os.walk(self.root) for name in names)
        ids = ((os.path.relpath(file, self.root).removesuffix(SHIPPED_ENDING), file) for file in paths)
        return dict(sorted((id_, file) for id_, file in ids if file.endswith(SHIPPED_ENDING)))

    def find_id(self, name: str) -> str | None:
        """The id of the flow with this id, this other id, or this last part of one of them.

        `plan`, `plan.json` and `plan.yaml` are the same.
        """
        bare = os.path.splitext(name)[0] if name.endswith((".json", ".yaml", ".yml")) else name
        if (id_ := self.id_of(bare)) is not None:
            return id_
        matches = {id_ for other, id_ in self.also.items() if os.path.basename(other) == bare}
        matches |= {id_ for id_ in self.files if os.path.basename(id_) == bare}
        return matches.pop() if len(matches) == 1 else None

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
    with open(file, encoding="utf-8") as stream:
        head = dict(_HEAD.findall(stream.read(1_000)))
    about, also = head.get("description", ""), head.get("also", "[]")
    return ShippedFlow(
        id_,
        json.loads(about) if about.startswith('"') else about,
        head.get("catalogVisibility") != "hidden",
        tuple(filter(None, also.strip("[]").split(", "))),
    )
