"""Every form has an example, which the page of values shows."""

from __future__ import annotations

import yaml

from handrail.driven.expressions.parser import CONDITIONS, PAIRS, VALUES, form_of
from handrail.source.values import OPERATIONS, TESTS


def test_the_example_of_a_value_has_its_form() -> None:
    assert {name: form_of(yaml.safe_load(form.example)) for name, form in VALUES.items()} == {
        name: name for name in VALUES
    }


def test_the_example_of_a_condition_has_its_form() -> None:
    assert {name: next(iter(yaml.safe_load(form.example))) for name, form in CONDITIONS.items()} == {
        name: name for name in CONDITIONS
    }


def test_every_operation_and_every_comparison_is_described() -> None:
    inner = {"text", "at", "truth", "not"}
    assert OPERATIONS.keys() - inner <= VALUES.keys()
    assert TESTS.keys() == set(PAIRS)
    assert TESTS.keys() <= CONDITIONS.keys()
