"""Edits of JSON settings that have comments: everything else stays as it is, byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.source import text_edits

TEXTS = {
    "no comments": '{\n\t"a" : [1,  2],"b":{"c": "x"}}\n',
    "line comments": '{ // first, "a": 0\n  "a": [1, // one, not two\n 2], // done\n  "b": {"c": "x"} // , last\n}\n',
    "block comments": '/* top */{"a": [/* , */ 1, 2 /* ] */], /* { */ "b": {"c": "x" /* } */}}',
    "last commas": '{"a": [1, 2,], "b": {"c": "x",},\n}',
    "signs in strings": '{"a": [1, 2], "b": {"c": "// no, /* comment */ ,}"}}',
    "quotes in strings": r'{"a": [1, 2], "b": {"c": "\" // \\"}, /* " */}',
    "only comments": "{\n  // nothing yet, but soon\n}\n",
}


def read(text: str) -> Any:
    return json.loads(text_edits.without_comments(text))


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("path", [(), ("b",), ("new",), ("new", "deep")])
def test_a_member_is_added_and_removed_again(name: str, path: tuple[str, ...]) -> None:
    text = TEXTS[name]
    added = text_edits.add_member(text, path, "ours", {"k": [1]}, comments=True)
    there = read(added)
    for key in path:
        there = there[key]
    assert there["ours"] == {"k": [1]}
    assert comments(added) == comments(text)
    left = text_edits.remove_member(added, (*path, "ours"), comments=True)
    assert comments(left) == comments(text)
    assert {key: value for key, value in read(left).items() if value} == read(text)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("path", [("a",), ("new",)])
def test_an_item_is_added_and_removed_again(name: str, path: tuple[str, ...]) -> None:
    text = TEXTS[name]
    added = text_edits.add_item(text, path, "ours", comments=True)
    assert read(added)[path[0]][0] == "ours"
    left = text_edits.remove_items(added, path, lambda item: bool(item == "ours"), comments=True)
    assert comments(left) == comments(text)
    assert {key: value for key, value in read(left).items() if value} == read(text)


@pytest.mark.parametrize("name", [name for name in TEXTS if name != "only comments"])
@pytest.mark.parametrize("item", [1, 2])
def test_an_item_of_others_can_be_removed(name: str, item: int) -> None:
    left = text_edits.remove_items(TEXTS[name], ("a",), lambda found: bool(found == item), comments=True)
    assert read(left)["a"] == [3 - item]


def comments(text: str) -> str:
    """What a text has beside its JSON."""
    return "".join(
        char
        for char, other in zip(text, text_edits.without_comments(text), strict=True)
        if char != other and char != ","
    )


@pytest.mark.parametrize("name", ["line comments", "block comments", "last commas"])
def test_comments_are_no_json_unless_they_are_expected(name: str) -> None:
    with pytest.raises(text_edits.NotJson):
        text_edits.add_member(TEXTS[name], (), "ours", 1)
