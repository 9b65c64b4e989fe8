"""`{name}` substitution, as the first seed does it."""

from __future__ import annotations

from conformance import corpus

from handrail.templates import render


@corpus.every("templates")
def test_a_template_is_rendered_as_by_the_seed(case: corpus.Case) -> None:
    assert render(case["template"], case["vars"]) == case["expect"]
