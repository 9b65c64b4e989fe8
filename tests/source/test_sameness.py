"""Which texts of programs are the same apart from what differs each time."""

from __future__ import annotations

import pytest

from handrail.source.output_text import without_variable_parts


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1 failed, 2 passed in 0.12s", "1 failed, 2 passed in 3.40s"),
        ("2026-01-02 03:04:05,123 ERROR no", "2027-11-12 13:14:15,9 ERROR no"),
        ("at 2026-01-02T03:04:05.123Z: no", "at 2026-01-02T03:04:06Z: no"),
        ("[03:04:05] no", "[13:14:15] no"),
        ("<Thing object at 0x7f01>", "<Thing object at 0x7fff02>"),
        ("/tmp/tmpab12/a.py:3: no", "/tmp/tmpzz99/a.py:3: no"),
        ("/var/folders/x1/y2/T/tmpab/a.py", "/var/folders/x1/y2/T/tmpcd/a.py"),
        ("/tmp/pytest-of-me/pytest-3/test_a0", "/tmp/pytest-of-me/pytest-14/test_a0"),
        ("job 0b5a6c1e-0000-4000-8000-123456789abc", "job ffffffff-0000-4000-8000-123456789abc"),
        ("connect to 127.0.0.1:4711", "connect to 127.0.0.1:52000"),
        ("pid 12 died", "pid 4711 died"),
        ("random seed: 12", "random seed: 99"),
        ("\x1b[31mno\x1b[0m", "no"),
        ("took 3 ms", "took 12.5 ms"),
    ],
)
def test_what_differs_each_time_is_not_compared(one: str, other: str) -> None:
    assert one != other
    assert without_variable_parts(one) == without_variable_parts(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3 failed, 1 passed", "2 failed, 2 passed"),
        ("a.py:3: no", "a.py:4: no"),
        ("/tmp/tmpab12/a.py: no", "/tmp/tmpab12/b.py: no"),
        ("expected 5, found 6", "expected 5, found 7"),
        ("exit code 1", "exit code 2"),
        ("version 1.2", "version 1.3"),
        ("E501 line too long", "E502 line too long"),
    ],
)
def test_what_a_program_found_is_compared(one: str, other: str) -> None:
    assert without_variable_parts(one) != without_variable_parts(other)
