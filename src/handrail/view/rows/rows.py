"""Rows with versions, the messages that carry them to a surface, and the texts in them. Pure.

A topic (a run, a session, the list of everything) is some sections of rows. Each row has an `id`, and `v`: the
number of the event that last changed it. A message has the rows that changed after the receiver's number, so ten
changes of a row between two messages are one row. A snapshot is a message from 0.
A row is one dict that is changed in place, so that reading a long journal is fast. A message has copies.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from handrail.source.output_text import clean
from handrail.source.plain_text import joined_lines

Row = dict[str, Any]
RowMessage = dict[str, Any]
RowKey = tuple[str, str]
"""The section and the id of a row."""
MOST_ROWS = 500
MOST_BYTES = 256 * 1024
HEAD = "head"
"""The section that is one row. Its id is empty."""
T = TypeVar("T")


class Rows:
    """The rows of one topic. `seq` is the number of events that made them; `epoch` names what the numbers count."""

    def __init__(self, epoch: str) -> None:
        self.epoch = epoch
        self.seq = 0
        self._rows: dict[RowKey, Row] = {}  # in the order of `v`
        self._removals: dict[RowKey, int] = {}  # in the order of their numbers

    def put(self, section: str, id_: str, fields: dict[str, Any]) -> bool:
        """Add a row, or change the fields that differ. True if anything changed."""
        place = (section, id_)
        row = self._rows.get(place)
        if row is None:
            row = {"id": id_, "v": 0}
        elif fields.items() <= row.items():
            return False
        row.update(fields)
        self.show(place, row)
        return True

    def show(self, place: RowKey, row: Row) -> None:
        """Take a row that is new or was changed just now. The caller may keep the row, too."""
        row["v"] = self.seq
        if self._rows.pop(place, None) is None:
            self._removals.pop(place, None)
        self._rows[place] = row

    def fill(self, rows: dict[RowKey, Row]) -> None:
        """Take rows that have their `v` already."""
        self._rows = dict(sorted((self._rows | rows).items(), key=lambda item: int(item[1]["v"])))
        for place in self._removals.keys() & rows.keys():
            del self._removals[place]

    def drop(self, section: str, id_: str, *, is_held: bool = False) -> None:
        """Remove a row, if it is there. `is_held`: it would have come with `fill`, and receivers may have it."""
        place = (section, id_)
        if self._rows.pop(place, None) is not None or is_held:
            self._removals.pop(place, None)
            self._removals[place] = self.seq

    def replace(self, section: str, rows: list[Row], head: Row) -> None:
        """Take all rows of a section and the head as they are now. If nothing changed, no row gets a new number."""
        self.seq += 1
        ids = {row["id"] for row in rows}
        removed_ids = [row["id"] for row in self.section(section) if row["id"] not in ids]
        for id_ in removed_ids:
            self.drop(section, id_)
        changes = [self.put(section, row["id"], row) for row in rows]
        if not (self.put(HEAD, "", head) or any(changes) or removed_ids):
            self.seq -= 1

    @property
    def head(self) -> Row:
        return self._rows.get((HEAD, ""), {})

    def get(self, section: str, id_: str) -> Row | None:
        return self._rows.get((section, id_))

    def section(self, section: str) -> list[Row]:
        """All rows of a section, the last changed one last."""
        return [row for (name, _), row in self._rows.items() if name == section]

    def changes_since(self, base: int) -> tuple[list[tuple[str, Row]], list[RowKey]]:
        """Copies of the rows that changed after a number, in the order of their changes, and what was removed since."""
        rows: list[tuple[str, Row]] = []
        for (section, _), row in reversed(self._rows.items()):
            if row["v"] <= base and base:
                break
            rows.append((section, row.copy()))
        removed_keys: list[RowKey] = []
        for place, number in reversed(self._removals.items()):
            if number <= base or not base:
                break
            removed_keys.append(place)
        return rows[::-1], removed_keys[::-1]

    def messages(self, topic: str, base: int, now: float, epoch: str | None = None) -> Iterator[RowMessage]:
        """The messages that bring a receiver from `base` to now: one, or several if one would be too large.

        A number that is not from these events (of another epoch, or of a longer history) counts as 0.
        """
        base = base if base <= self.seq and epoch in (None, self.epoch) else 0
        pairs, removed_keys = self.changes_since(base)
        parts = list(_parts(pairs))
        for number, part in enumerate(parts):
            is_last = number == len(parts) - 1
            yield {
                "topic": topic,
                "epoch": self.epoch,
                "base": base,
                "seq": self.seq,
                "part": number,
                "more": not is_last,
                "now": now,
                "set": {name: values[0] if name == HEAD else values for name, values in _by_section(part).items()},
                "gone": _by_section(removed_keys) if is_last else {},
            }


def _parts(pairs: list[tuple[str, Row]]) -> Iterator[list[tuple[str, Row]]]:
    """The rows in parts that fit into a message. At least one part, and at least one row in a part."""
    part: list[tuple[str, Row]] = []
    size = 0
    for section, row in pairs:
        length = len(json.dumps(row))
        if part and (len(part) == MOST_ROWS or size + length > MOST_BYTES):
            yield part
            part, size = [], 0
        part.append((section, row))
        size += length
    yield part


def _by_section(pairs: Iterable[tuple[str, T]]) -> dict[str, list[T]]:
    sections: dict[str, list[T]] = {}
    for section, item in pairs:
        sections.setdefault(section, []).append(item)
    return sections


KEPT_LINES = 2_000
"""How many lines of a tail a receiver keeps."""


class ReceivedRows:
    """The rows as a receiver has them after messages. The page does the same in JavaScript."""

    def __init__(self) -> None:
        self.epoch = ""
        self.seq = 0
        self.rows: dict[RowKey, Row] = {}
        self.tail: dict[int, Row] = {}
        self.lost_count = 0

    def take(self, message: RowMessage) -> bool:
        """Apply a message. False if it does not follow the last one: then ask again, from `seq`.

        Of the parts of a large message, only the last one moves `seq`: whoever misses one asks for all again.
        """
        base, seq = message["base"], message["seq"]
        if not base and not message["part"]:
            self.epoch, self.seq, self.rows = message["epoch"], 0, {}
        elif message["epoch"] != self.epoch or seq < self.seq:
            self.epoch, self.seq, self.rows = "", 0, {}
            return False
        if base > self.seq:
            return False
        for section, rows in message["set"].items():
            for row in [rows] if section == HEAD else rows:
                self.rows[section, row["id"]] = row
        for section, ids in message["gone"].items():
            for id_ in ids:
                self.rows.pop((section, id_), None)
        if not message["more"]:
            self.seq = seq
        if (tail := message.get("tail")) is not None:
            old_lines, lost_count = (self.tail, self.lost_count) if tail["base"] else ({}, 0)
            lines = {**old_lines, **{row["n"]: row for row in tail["rows"]}}
            self.tail, self.lost_count = dict(list(lines.items())[-KEPT_LINES:]), lost_count + tail["lost"]
        return True


SHORT, LONG, SUMMARY = 200, 500, 8_000


def short_text(text: str) -> str:
    return clean(joined_lines(text))[:SHORT]


def long_text(text: str) -> str:
    return clean(joined_lines(text))[:LONG]


def summary_text(text: str) -> str:
    """A summary: several lines, cut so that it has at most `SUMMARY` bytes."""
    return clean(text).encode("utf-8", "replace")[:SUMMARY].decode("utf-8", "ignore")


def cleaned_value(value: Any, kept_keys: tuple[str, ...] = ()) -> Any:
    """A value with all its texts cleaned, including the keys of objects. The values of `kept_keys` stay as they are."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {
            clean(str(key)): one if key in kept_keys else cleaned_value(one, kept_keys) for key, one in value.items()
        }
    return [cleaned_value(one, kept_keys) for one in value] if isinstance(value, list | tuple) else value


def failure_json(code: str, message: str) -> dict[str, str]:
    return {"code": code, "message": long_text(message)}
