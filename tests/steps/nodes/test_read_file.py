"""`read-file`: the text of a file, and what it holds if it is JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from steps.nodes.steps import step

FILES = [
    ("a.json", ' {"title": "x"}\n', {"title": "x"}),
    ("a.json", "\ufeff[1]", [1]),
    ("a.json", "{", None),
    ("a.json", "[" * 100_000, None),
    ("a.txt", "[1]", None),
]


@pytest.mark.parametrize(("name", "text", "data"), FILES, ids=["json", "byte-order-mark", "broken", "deep", "text"])
def test_a_json_file_is_also_data(tmp_path: Path, name: str, text: str, data: Any) -> None:
    (tmp_path / name).write_text(text)
    assert step("read-file", {"path": name}, tmp_path) == {"text": text.strip(" \n\ufeff"), "data": data}
