"""A file that grows while it is read is read in large pieces."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.base.files import read_regular


def test_a_file_that_grows_meanwhile_is_read_in_few_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b"a" * 100)
    pread, calls = os.pread, list[int]()

    def growing(handle: int, size: int, at: int) -> bytes:
        found = pread(handle, size, at)
        calls.append(len(found))
        if len(calls) == 1:
            with open(path, "ab") as file:
                file.write(b"b" * 1_000)
        return found

    monkeypatch.setattr(os, "pread", growing)
    assert read_regular(str(path)) == b"a" * 100 + b"b" * 1_000
    assert calls == [100, 1_000, 0]
