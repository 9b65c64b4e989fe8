"""`Scan` on any bytes returns valid records from the beginning, or raises `JournalDamaged`."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from fuzz.inputs import mutated, share
from handrail.base.journal import JournalDamaged, Scan
from handrail.base.jsonlite import encode_line

WORDS = ["", "a {b} c", 'quote " {"n":9', "\N{SNOWMAN}", "two\nlines", "00000000 {}", "x" * 90]
RECORDS: list[dict[str, Any]] = [
    {"n": number, "t": number / 7, "events": [{"type": "Looped", "origin": number, "to": 0}, {"words": words}]}
    for number, words in enumerate(WORDS)
]
LINES = [encode_line(record) for record in RECORDS]
WHOLE = b"".join(LINES)
NOISE = st.binary(max_size=20) | st.sampled_from([b"\n", b" {", b"00000000 {}\n", bytes(8), *LINES])


def scan(data: bytes) -> Scan | None:
    try:
        return Scan(data, 0, "journal")
    except JournalDamaged:
        return None


@share("journal: any bytes")
@given(st.binary(max_size=300) | st.lists(NOISE, max_size=20).map(b"".join))
@example(b"deadbeef {" * 2_000)
@example(b"\n" * 100_000)
@example(bytes(100_000))
def test_any_bytes_are_records_in_order_or_damaged(data: bytes) -> None:
    found = scan(data)
    if found is not None:
        assert [record["n"] for record in found.records] == list(range(len(found.records)))
        assert b"".join(map(encode_line, found.records)) == data[: found.end]
        assert data[found.last : found.end] == (encode_line(found.records[-1]) if found.records else b"")


@share("journal: nearly a journal")
@given(mutated(st.just(WHOLE), NOISE))
def test_a_mutated_journal_is_damaged_or_begins_with_the_written_records(data: bytes) -> None:
    found = scan(data)
    if found is not None:
        assert found.records == RECORDS[: len(found.records)]


@given(st.integers(0, len(WHOLE) - len(LINES[-1]) - 1), st.integers(1, 255))
def test_a_changed_byte_before_the_last_record_is_always_detected(at: int, bits: int) -> None:
    assert scan(WHOLE[:at] + bytes([WHOLE[at] ^ bits]) + WHOLE[at + 1 :]) is None


def test_the_journal_is_valid_before_the_mutation() -> None:
    found = scan(WHOLE)
    assert found is not None
    assert found.records == RECORDS
