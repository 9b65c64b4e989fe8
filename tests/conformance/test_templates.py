"""Substitution of `{name}` as in pi-workflows."""

from __future__ import annotations

from conformance import corpus, differences
from handrail.source.templates import render


@corpus.every("templates")
def test_a_template_is_rendered_as_in_pi_workflows(case: corpus.Case) -> None:
    rendered = render(case["template"], case["vars"])
    assert differences.is_open(case) or rendered == case["expect"]
