"""Compares template rendering with a second implementation that uses a regular expression."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from fuzz.inputs import pieces, share
from handrail.source.templates import placeholders, render

PLACEHOLDER = re.compile(r"\{(\w+)\}", re.ASCII)
TEMPLATES = pieces(
    "{", "}", "{{", "}}", "{a}", "{b1}", "{_}", "{a b}", "{é}", "{a-b}", "a", "b1", "\n", "$1", "\\1", "{}"
)
VALUES = st.dictionaries(st.sampled_from(["a", "b1", "_", "é", "0", "ab"]), TEMPLATES, max_size=6)


@share("templates")
@given(TEMPLATES, VALUES)
def test_rendering_equals_a_replacement_by_regular_expression(template: str, values: dict[str, str]) -> None:
    expected = PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), template)
    assert render(template, values) == expected
    assert placeholders(template) == [(found[1], found.start()) for found in PLACEHOLDER.finditer(template)]
