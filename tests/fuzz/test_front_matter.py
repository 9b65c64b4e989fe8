"""`split_front_matter` on any text."""

from __future__ import annotations

from hypothesis import given

from fuzz.inputs import pieces, share
from handrail.source.yaml_text import split_front_matter


@share("front matter")
@given(pieces("---", "---\n", "----\n", "--- \n", "--", "-", "\n", "id: a\n", "text\n", "...\n", most=12))
def test_front_matter_and_body_are_parts_of_the_text(text: str) -> None:
    parts = split_front_matter(text)
    lines = text.split("\n")
    if parts is None:
        assert (
            not lines[0].startswith("---")
            or lines[0].strip("- ")
            or not any(line.startswith("---") for line in lines[1:])
        )
        return
    front, body, body_line = parts
    assert text.startswith("---")
    assert not any(line.startswith("---") for line in front.split("\n"))
    assert lines[body_line - 2].startswith("---")
    assert "\n".join(lines[1 : body_line - 2]) == front
    assert "\n".join(lines[body_line - 1 :]) == body


@share("front matter")
@given(pieces("---", "---\n", "\n", "\n---", "- ", "----", "a: b", most=10))
def test_front_matter_ends_at_the_first_line_that_begins_with_three_dashes(text: str) -> None:
    assert split_front_matter(text) == by_lines(text)


def by_lines(text: str) -> tuple[str, str, int] | None:
    """A simple second implementation, line by line."""
    first, *rest = text.split("\n")
    if not first.startswith("---") or first.strip("- "):
        return None
    for number, line in enumerate(rest):
        if line.startswith("---"):
            return "\n".join(rest[:number]), "\n".join(rest[number + 1 :]), number + 3
    return None
