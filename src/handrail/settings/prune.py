"""The setting `prune`: which ended runs and sessions `handrail run` removes first."""

from __future__ import annotations

from handrail.source.dataclasses import dataclass
from handrail.source.durations import EXAMPLE, PATTERN, parse_duration
from handrail.source.fields import Field, Reader, found, quoted, shape
from handrail.source.yamltree import Node

SHAPE = shape(
    "prune",
    "Which ended runs and sessions `handrail run` removes first.",
    Field(
        "olderThan",
        ("text",),
        f"those that ended longer ago than this: {EXAMPLE}",
        schema={"type": "string", "pattern": f"^{PATTERN}$"},
        examples=("30d",),
    ),
    Field("keep", ("integer",), "all but so many of the newest", least=0, examples=(100,)),
)


@dataclass(frozen=True)
class PruneSettings:
    """Which ended runs and sessions are removed: older than some seconds, and not among the newest."""

    older_than: float | None = None
    keep: int | None = None


def read_prune(reader: Reader, node: Node | None, before: PruneSettings | None) -> PruneSettings | None:
    if node is None:
        return before
    older, keep = node.value.get("olderThan"), node.value.get("keep")
    for name, child in node.value.items():
        if name not in SHAPE.by_name:
            reader.on(child, "bad-value", f"`prune` has no key `{name}`", f"its keys: {', '.join(SHAPE.by_name)}")
    seconds = parse_duration(older.value) if older is not None and older.kind == "text" else None
    if older is not None and seconds is None:
        reader.on(older, "bad-value", f"`olderThan` has to be {EXAMPLE}, found {quoted(older)}", None)
        return before
    if keep is not None and (keep.kind != "integer" or keep.value < 0):
        reader.on(keep, "bad-value", f"`keep` has to be a whole number, 0 or more, found {found(keep)}", None)
        return before
    if older is None and keep is None:
        reader.on(node, "bad-value", "`prune` says nothing", "write `olderThan: 30d`, `keep: 100`, or both")
        return before
    return PruneSettings(seconds, keep.value if keep is not None else None)
