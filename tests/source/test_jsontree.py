"""JSON as located nodes. Both readers give the same tree for the same JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.source.json_reader import read_json
from handrail.source.tree import TreeNode
from handrail.source.yaml_parser import compose

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def plain(node: TreeNode) -> Any:
    if node.kind == "list":
        return [plain(item) for item in node.value]
    return {name: plain(item) for name, item in node.value.items()} if node.kind == "mapping" else node.value


@pytest.mark.whole
@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_every_json_value_is_read(value: Any, indent: int | None, is_ascii: bool) -> None:
    tree, troubles = read_json(json.dumps(value, indent=indent, ensure_ascii=is_ascii))
    assert tree is not None
    assert not troubles
    assert plain(tree) == value


@given(st.text() | st.text(st.sampled_from('{}[]:,"\\ \n1.e-tnu')))
def test_any_text_gives_a_tree_or_a_located_trouble(text: str) -> None:
    tree, troubles = read_json(text)
    assert tree is not None or troubles or not text.strip(" \t\r\n")
    lines = text.split("\n")
    for trouble in troubles:
        assert trouble.message
        assert 1 <= trouble.column <= len(lines[trouble.line - 1]) + 1


def test_places_are_those_of_the_yaml_reader() -> None:
    text = '{\n "a": [1, "b"],\n "c": {"d": null}\n}\n'
    assert read_json(text) == compose(text)


def test_numbers_are_values_unless_their_texts_are_wanted() -> None:
    tree, _ = read_json('{"v": 2.0, "n": -0, "big": 1e999}')
    kept, _ = read_json('{"v": 2.0, "n": -0, "big": 1e999}', keeps_texts=True)
    assert tree is not None
    assert kept is not None
    assert {name: str(node.value) for name, node in kept.value.items()} == {"v": "2.0", "n": "-0", "big": "1e999"}
    assert type(tree.value["v"].value) is float


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ('{"a": 1,}', (1, 8), "no `,` is allowed before `}`"),
        ("[1,]", (1, 3), "no `,` is allowed before `]`"),
        ("{'a': 1}", (1, 2), "text has to be in double quotes"),
        ("{a: 1}", (1, 2), "a key in double quotes was expected here, found `a`"),
        ('{"a" 1}', (1, 6), "`:` was expected after the key `a`, found `1`"),
        ('{"a": 1\n "b": 2}', (2, 2), '`,` or `}` was expected here, found `"`'),
        ('{"a": "x\ny"}', (1, 9), "a line break or a tab is not allowed inside text"),
        ('{"a": "x', (1, 7), "this text is not closed"),
        ('{"a": [1', (1, 7), "this list is not closed"),
        ('{"a": {"b": 1}\n\n', (1, 1), "this object is not closed"),
        ('{"a": tru}', (1, 7), "a value was expected here, found `tru`"),
        ('{"a": 01}', (1, 7), "a value was expected here, found `01`"),
        ('{"a": }', (1, 7), "a value was expected here, found `}`"),
        ('{"a": 1} // why', (1, 10), "JSON has no comments"),
        ("{} {}", (1, 4), "text follows the end of the JSON value"),
        ('{"a": "\\q"}', (1, 8), "this escape is not known"),
        ('{"a": "\\ud83d"}', (1, 7), "this text holds half of a character"),
        ("[" * 60, (1, 51), "values are nested more than 50 levels deep"),
        ('{"a": 1,\n "a": 2}', (2, 2), "key `a` is given twice"),
    ],
)
def test_a_problem_has_its_place(text: str, place: tuple[int, int], message: str) -> None:
    _, (trouble,) = read_json(text)
    assert ((trouble.line, trouble.column), trouble.message) == (place, message)


def test_a_whole_number_that_no_float_can_hold_is_a_number() -> None:
    tree, troubles = read_json('{"n": ' + "9" * 400 + "}")
    assert tree is not None
    assert (tree.value["n"].value, troubles) == (10**400 - 1, [])
