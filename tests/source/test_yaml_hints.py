"""Where the YAML parser stops, the message is about the mistake that a person made, often on an earlier line."""

from __future__ import annotations

import pytest
import yaml

from handrail.source.yaml_text import read_yaml

FLOW = "phases:\n  - id: a\n%s"
STEP = FLOW % "    steps:\n      - {id: x, node: set, params: {%s}}\n"


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="without libyaml, some messages differ")
@pytest.mark.parametrize(
    ("text", "line", "column", "message", "hint"),
    [
        (" name: X\nphases: [a.md]\n", 1, 2, "this line is indented, but line 2 is not", "keys of one mapping"),
        ("# About\n\n  name: X\nphases: []\n", 3, 3, "this line is indented, but line 4 is not", "keys of one mapping"),
        ('a: 1\nb: "Begin\nc: 2\nd: "You"\n', 2, 4, "this quote is closed only on line 4", "add the closing quote"),
        ("a: 'X\nb: It's here\n", 1, 4, "this quote is closed only on line 2", "add the closing quote"),
        (STEP % "f: sub, who: ${params.v}", 4, 50, "`${` needs quotes", "put it in quotes: `'${params.v}'`"),
        (STEP % "f: [${params.v}]", 4, 41, "`${` needs quotes", "put it in quotes: `'${params.v}'`"),
        (FLOW % "    - {id: nap, node: wait}\n", 3, 5, "a list cannot begin here", "write the key of the list"),
        (FLOW % "      - {id: nap, node: wait}\n", 3, 7, "a list cannot begin here", "write the key of the list"),
        ("a: b: c\n", 1, 5, "`:` is not allowed here", "put text that contains `: ` in quotes"),
        ("a:\n  - b\n - c\n", 3, 2, "a key was expected here, found `-`", "begin every item with `- `"),
        ('a: "x" y\n', 1, 8, "a key was expected here", "keys of one mapping"),
    ],
)
def test_the_mistake_is_named_at_its_place(text: str, line: int, column: int, message: str, hint: str) -> None:
    _, (trouble,) = read_yaml(text)
    assert (trouble.line, trouble.column) == (line, column)
    assert trouble.message.startswith(message)
    assert (trouble.hint or "").startswith(hint)


def test_lines_are_counted_from_the_first_line_of_the_file() -> None:
    _, (trouble,) = read_yaml(" id: a\nname: A\n", 2)
    assert (trouble.line, trouble.message) == (2, "this line is indented, but line 3 is not")
