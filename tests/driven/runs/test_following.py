"""The journal of a run is followed from an offset while its driver writes. Without new events that costs one `stat`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.base import journal, jsonlite
from handrail.base.errors import StateError
from handrail.driven.engines.embedded.run_folders import JournalFollower
from handrail.driven.engines.embedded.run_journal import Ledger, events_of, read_all
from handrail.driven.runs import run_events
from handrail.settings.secrets import Secrets

_read: list[str] = []


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if event == "open" and (args[1] in ("r", "rb") or (args[1] is None and args[2] & os.O_ACCMODE == os.O_RDONLY)):
        _read.append(str(args[0]))


sys.addaudithook(_hook)  # it cannot be removed


def ledger(folder: Path, secret: str | None = None) -> Ledger:
    (folder / "1").mkdir(exist_ok=True)
    return Ledger(str(folder / "1"), lambda: 7.0, Secrets({} if secret is None else {"API_TOKEN": secret}))


def note(number: int) -> run_events.Noticed:
    return run_events.Noticed("a", f"note {number}")


def test_every_written_event_is_seen_once(tmp_path: Path) -> None:
    book, follower, offset = ledger(tmp_path), JournalFollower(), 0
    seen: list[run_events.Event] = []
    for number in range(50):
        book.record(note(number))
        records, offset = follower.read_behind(book.path, offset)
        seen += [event for _, event in events_of(records, book.path)]
    assert os.path.getsize(book.path) > offset  # there is spare room after the last record
    assert seen == [note(number) for number in range(50)]
    assert follower.read_behind(book.path, offset) == ([], offset)
    book.close()
    assert os.path.getsize(book.path) == offset
    assert read_all(book.path) == (book.records, offset)


def test_an_idle_journal_is_not_read_again(tmp_path: Path) -> None:
    book, follower = ledger(tmp_path), JournalFollower()
    book.record(note(1))
    os.utime(book.path, (1, 1))
    _, offset = follower.read_behind(book.path, 0)
    _read.clear()
    follower.read_behind(book.path, offset)
    assert _read == [book.path]
    _read.clear()
    for _ in range(100):
        assert follower.read_behind(book.path, offset) == ([], offset)
    assert book.path not in _read
    book.record(note(2))
    records, _ = follower.read_behind(book.path, offset)
    assert [event for _, event in events_of(records, book.path)] == [note(2)]


def test_a_missing_journal_is_empty(tmp_path: Path) -> None:
    assert JournalFollower().read_behind(str(tmp_path / "journal"), 0) == ([], 0)


def test_only_events_after_the_offset_are_parsed(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    book.record(note(1))
    offset = book.end
    book.record(note(2))
    book.close()
    data = Path(book.path).read_bytes()
    Path(book.path).write_bytes(b"x" * (offset - 1) + b"\n" + data[offset:])
    records, _ = JournalFollower().read_behind(book.path, offset)
    assert [event for _, event in events_of(records, book.path)] == [note(2)]
    with pytest.raises(StateError, match="is damaged"):
        JournalFollower().read_behind(book.path, 0)


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_half_written_record_is_seen_when_it_is_complete(tmp_path: Path, cut: int) -> None:
    book = ledger(tmp_path)
    book.record(note(1))
    offset = book.end
    book.record(note(2))
    book.close()
    data = Path(book.path).read_bytes()
    Path(book.path).write_bytes(data[: len(data) - cut] + b"\0" * 100)
    assert journal.read_behind(book.path, offset) == ([], offset)
    Path(book.path).write_bytes(data)
    assert len(journal.read_behind(book.path, offset)[0]) == 1


def test_following_continues_after_a_record_was_replaced(tmp_path: Path) -> None:
    """The reader saw a record whose sync failed. Other records were then written in its place."""
    path = tmp_path / "journal"
    first, undone = jsonlite.encode_line({"n": 0, "events": []}), jsonlite.encode_line({"n": 1, "events": ["undone"]})
    path.write_bytes(first + undone)
    _, offset = journal.read_behind(str(path), 0)
    assert offset == len(first) + len(undone)
    path.write_bytes(first)
    assert journal.read_behind(str(path), offset) == ([], offset)
    second = jsonlite.encode_line({"n": 1, "events": ["a longer one" * 10]})
    third = jsonlite.encode_line({"n": 2, "events": []})
    path.write_bytes(first + second + third)
    records, end = journal.read_behind(str(path), offset)
    assert [record["n"] for record in records] == [2]
    assert end == len(first + second + third)


def test_the_events_of_the_driver_equal_the_journal_without_secrets(tmp_path: Path) -> None:
    book = ledger(tmp_path, "tok-1234567890abcdef")
    book.record(run_events.NodeFinished("a/x", "", 1, {"text": "it is tok-1234567890abcdef"}))
    book.close()
    assert "1234567890" not in Path(book.path).read_text()
    assert read_all(book.path)[0] == book.records
