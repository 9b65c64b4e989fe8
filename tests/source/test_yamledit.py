"""Entries are added to a mapping of a YAML text, and nothing else changes."""

from __future__ import annotations

import pytest

from handrail.source.yaml_text import add_entries

NEW = {"mine": {"default": "a:b"}}
LINE = '"mine": {default: "a:b"}'


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("", f"top:\n  {LINE}\n"),
        ("a: 1", f"a: 1\ntop:\n  {LINE}"),
        ("# c\na: 1\n", f"# c\na: 1\ntop:\n  {LINE}\n"),
        ("top:\na: 1\n", f"top:\n  {LINE}\na: 1\n"),
        ("top:\n    old:\n        x: y # c\na: 1\n", f"top:\n    {LINE}\n    old:\n        x: y # c\na: 1\n"),
        ("top:\n  # c\n\n  old: {x: y}\n", f"top:\n  # c\n\n  {LINE}\n  old: {{x: y}}\n"),
    ],
)
def test_entries_are_added_in_block_style(text: str, edited: str) -> None:
    assert add_entries(text, "top", NEW) == edited


@pytest.mark.parametrize(
    "text",
    [
        "{a: 1}",
        "top: {old: {x: y}}",
        "top: 3",
        "top:\n  mine: {x: y}\n",
        "a: [",
        "- a",
        "---\na: 1\n...\n",
    ],
)
def test_a_text_that_cannot_be_edited_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"top|text"):
        add_entries(text, "top", NEW)


def test_any_name_is_quoted() -> None:
    edited = add_entries("", "top", {'a: "b" # {c}': {"default": "x: y"}})
    assert edited == 'top:\n  "a: \\"b\\" # {c}": {default: "x: y"}\n'
