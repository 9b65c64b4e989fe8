"""Searches what happened in a run: its journal and what was printed, the newest first, in pages."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from handrail.errors import UsageError
from handrail.runs.runs import Runs
from handrail.runs.stored import seen
from handrail.source.clean import clean
from handrail.topics.lines import KINDS, LONGEST, line_of

PAGE = 100
PRINTED = ("text", "out")
"""The kinds of printed lines that are in no journal. The other ones are events, too."""
Row = dict[str, Any]


class Wanted(NamedTuple):
    """What is looked for: a literal text without regard to case, some of `KINDS` (empty: all), below a path.

    `before` is the `before` of the page that was read last; None for the newest page.
    """

    query: str = ""
    kinds: Collection[str] = ()
    under: str = ""
    before: str | None = None

    def fits(self, row: Row) -> bool:
        if self.kinds and row["kind"] not in self.kinds:
            return False
        if self.under and not f"{row['path']}/".startswith(f"{self.under}/"):
            return False
        query = self.query.casefold()
        return not query or query in f"{row['path']} {row['what']} {row['text']}".casefold()


def search(runs: Runs, id_: str, wanted: Wanted) -> Row:
    """A page of lines, the newest last. `before` is for the next page; None if this is the oldest one."""
    for kind in wanted.kinds:
        if kind not in KINDS:
            raise UsageError(f"there is no kind `{clean(kind)[:40]}` of lines", f"kinds: {', '.join(KINDS)}")
    limit = None if wanted.before is None else _key_of(wanted.before)
    records = runs.records(id_, runs.attempts(id_)[-1])
    newest = heapq.merge(_events(records), _printed(runs, id_), key=_key, reverse=True)
    found: list[Row] = []
    has_more = False
    for row in newest:
        if (limit is not None and _key(row) >= limit) or not wanted.fits(row):
            continue
        if len(found) == PAGE:
            has_more = True
            break
        found.append(row)
    before = found[-1]["id"] if has_more else None
    return {"rows": found[::-1], "before": before, "total": len(records)}


def _events(records: list[Any]) -> Iterator[Row]:
    """The lines of the events, the newest first."""
    for number in range(len(records), 0, -1):
        at, event = records[number - 1]
        kind, path, what, text = line_of(seen(event))
        yield {"id": f"{at}-e{number}", "t": at, "path": path, "kind": kind, "what": what, "text": text}


def _printed(runs: Runs, id_: str) -> Iterator[Row]:
    lines, _ = runs.engine.activity(id_, None)
    for line in reversed(lines):
        if line["kind"] in PRINTED:
            row = {"id": f"{line['t']}-a{line['n']}", "t": line["t"], "path": line["node"], "kind": "agent"}
            yield {**row, "what": line["kind"], "text": clean(line["text"])[:LONGEST]}


def _key(row: Row) -> tuple[float, str, int]:
    return _key_of(row["id"])


def _key_of(id_: str) -> tuple[float, str, int]:
    """The place of a line in time. Raises `UsageError` for a text that is not the id of a line."""
    at, _, rest = id_[:80].rpartition("-")
    try:
        return float(at), rest[:1], int(rest[1:])
    except ValueError as error:
        raise UsageError("`before` is not the id of a line", "use the `before` of the last page") from error
