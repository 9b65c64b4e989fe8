"""`yaml_parser.compose` on any text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fuzz.inputs import mutated, pieces, share
from handrail.source.tree import MAX_ALIASED, MAX_DEPTH, TreeNode, Trouble, node_text, scalar
from handrail.source.yaml_parser import compose
from handrail.source.yaml_text import plain_tree

SIGNS = (
    *"[]{},:?-#&*!|>%@`'\"\\~<=.",
    *("- ", ": ", "? ", "\n", "\n  ", "\n\t", "---\n", "...\n", "\r\n", "\x85", "\u2028", "\ufeff"),
    *("&a ", "*a", "!!str ", "!!int ", "!x ", "<<: *a", "|\n ", ">-\n ", "%YAML 1.2\n", "null", "true", "0x1f"),
    *("1e5", "-.inf", ".inf", ".nan", "1.0", "key: value\n", "- item\n", '"\\x41"', '"\\ud800"', "a: {b: [c]}\n"),
)


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


DOCUMENT = b"""\
name: Release   # what people see
list: [1, 2.5, true, null, "quoted \\t", 'single']
anchored: &anchor
  deep: {a: [b, {c: d}], e: |
    literal
      text
  }
again: *anchor
folded: >-
  some words
  and more
"""


def check(text: str) -> None:
    """The result is a tree or at least one trouble, and every position is in the text."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")  # like when a file is read
    tree, troubles = compose(text)
    assert tree is not None or troubles or not has_content(text)
    if tree is not None:
        assert not any(trouble.fatal for trouble in troubles)
        check_node(tree, text)
    for trouble in troubles:
        check_trouble(trouble, text)


def has_content(text: str) -> bool:
    """True if the text may contain a value, not only comments, document markers and blank lines."""
    lines = (line.split("#")[0].strip("\ufeff \t") for line in text.split("\n"))
    return any(line not in ("", "---", "...") and not line.startswith("%") for line in lines)


def check_trouble(trouble: Trouble, text: str) -> None:
    assert trouble.message
    lines = text.split("\n")
    assert 1 <= trouble.line <= len(lines)
    assert 1 <= trouble.column <= len(lines[trouble.line - 1]) + 1
    assert trouble.width >= 1


def check_node(node: TreeNode, text: str, depth: int = 1) -> None:
    assert depth <= MAX_DEPTH + 1
    lines = text.split("\n")
    assert 1 <= node.line <= len(lines)
    assert 1 <= node.column <= len(lines[node.line - 1]) + 1
    assert node.width >= 1
    if node.kind == "list":
        for item in node.value:
            check_node(item, text, depth + 1)
    elif node.kind == "mapping":
        assert node.keys.keys() == node.value.keys()
        for item in node.value.values():
            check_node(item, text, depth + 1)
    else:
        kinds = {"text": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}
        assert isinstance(node.value, kinds[node.kind])
        assert isinstance(node.value, bool) is (node.kind == "boolean")
        if node.kind == "number":
            written = node_text(node)
            assert repr(scalar(written)[1]) in (repr(node.value), written), "`node_text` gives valid YAML"


@share("yaml: any text")
@given(st.text() | st.text(st.characters(categories=("Cs", "Cc", "P", "Nd"))))
def test_any_text_gives_a_tree_or_a_trouble(text: str) -> None:
    check(text)


@share("yaml: nearly yaml")
@given(pieces(*SIGNS) | mutated(st.just(DOCUMENT), pieces(*SIGNS, most=3).map(encoded)).map(decoded))
@example("&a [*a, *a]")
@example("a: &a\n  b: *a")
@example("- " * 2_000)
@example("[" * 60_000)
@example("{a: " * 60_000)
@example("? " * 20_000)
@example("'" + "\n" * 50_000)
@example("&a a: &b [*a]\n" * 500)
@example("1" * 100_000)
@example("- " + "9" * 5_000)
@example("- 0x" + "f" * 390)
def test_text_similar_to_yaml_gives_a_tree_or_a_trouble(text: str) -> None:
    check(text)


def plain(node: TreeNode) -> Any:
    if node.kind == "list":
        return [plain(item) for item in node.value]
    return {name: plain(item) for name, item in node.value.items()} if node.kind == "mapping" else node.value


FIT_FOR_YAML = st.characters(blacklist_categories=("Cs", "Cc", "Cn", "Co"), blacklist_characters="\ufeff\ufffe\uffff")
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(FIT_FOR_YAML),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(FIT_FOR_YAML, max_size=20), below, max_size=4),
    max_leaves=20,
)


@share("yaml: the same values as json")
@given(JSON_VALUES, st.sampled_from([None, 2]))
def test_json_text_has_the_same_values_when_read_as_yaml(value: Any, indent: int | None) -> None:
    tree, troubles = compose(json.dumps(value, ensure_ascii=False, indent=indent))
    assert troubles == []
    assert tree is not None
    read = plain(tree)
    assert (read, repr(read)) == (value, repr(value))


@pytest.mark.parametrize("shape", ["[{}]", "{{a: {}}}", "- {}", "? {}\n"])
def test_nesting_that_is_too_deep_is_reported(shape: str) -> None:
    text = "x"
    for _ in range(MAX_DEPTH * 2):
        text = shape.format(text)
    tree, troubles = compose(text)
    assert tree is None
    assert [trouble.code for trouble in troubles] in (["yaml-too-deep"], ["yaml-key"])


def test_aliases_that_multiply_are_limited() -> None:
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 12)]
    tree, troubles = compose("\n".join(lines))
    assert tree is None
    assert [trouble.code for trouble in troubles] == ["yaml-too-many"]
    assert str(MAX_ALIASED) in troubles[0].message


PLAIN = (
    *("a: b\n", "name: Two words\n", "x:\n", "  - a\n", "- a\n", "  y: 1\n", "  z:\n", "    - q q\n", "    w: true\n"),
    *('k: "🔧 x"\n', 'e: ""\n', "null: 1\n", " - b\n", "m: {a}.\n", "n: é ü\n", "o: 1.5\n", "p: a - b\n", "q: 'x'\n"),
    *("r: a'b\"c\n", "\n", "s: x ", "t: [a]b\n", "u: a,b\n", "- a: b\n", "x:  y\n", "f: a &b *c !d %e @f `g |h >i\n"),
)


@share("yaml: nearly yaml")
@given(st.lists(st.sampled_from(PLAIN), min_size=1, max_size=7).map("".join) | pieces(*PLAIN, *SIGNS, most=8))
@example("a:\n- b\nc: d")
@example("a:\n  b:\n    - c\n  d: e\n")
@example("a: b\n  - c\n")
@example("a:\n  - b\n - c\n")
@example("a: 1\na: 2\n")
@example("a:\n")
@example("")
def test_simple_yaml_is_read_like_by_the_parser(text: str) -> None:
    tree = plain_tree(text, 3)
    assert tree is None or (tree, []) == compose(text, 3)


def test_a_typical_definition_is_simple_yaml() -> None:
    assert plain_tree('name: A b\nemoji: "🔧"\nphases:\n  - 1-plan.md\ntools:\n  blacklist:\n    - edit\n') is not None
