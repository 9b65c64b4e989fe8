"""Forms: how they are read, which answers they accept, and which answers of a file belong to them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.driven.forms.form import (
    Form,
    FormField,
    WrongAnswers,
    accept,
    blocking_severities,
    choices,
    initial,
    problems,
    unknown,
    with_initial,
)
from handrail.driven.forms.form_params import form_from, to_json
from handrail.source.values import Unresolved


def make(*fields: dict[str, Any]) -> Form:
    return form_from({"formId": "f", "title": "F", "fields": list(fields)})


REVIEW = make(
    {"id": "go", "type": "boolean", "required": True},
    {"id": "why", "type": "text", "required": True, "when": {"field": "go", "equals": False}},
    {"id": "area", "options": ["ui", "core", {"value": "none", "when": {"field": "go", "equals": True}}]},
    {"id": "tags", "type": "multi-select", "options": ["a", "b", "c"], "default": ["b"]},
    {"id": "note", "default": "fine"},
)


def wrong(form: Form, **values: Any) -> dict[str, str]:
    return {problem.field: problem.message for problem in problems(form, values)}


def test_accepted_answers_have_one_value_per_field_and_no_others() -> None:
    accepted = accept(REVIEW, {"go": True, "zzz": 1})
    assert accepted == {"go": True, "why": "", "area": None, "tags": ["b"], "note": "fine"}
    assert unknown(REVIEW, {"go": True, "zzz": 1}) == ["zzz"]


def test_an_explicit_empty_answer_is_not_replaced_by_the_default() -> None:
    accepted = accept(REVIEW, {"go": True, "tags": [], "note": ""})
    assert (accepted["tags"], accepted["note"]) == ([], "")


def test_null_and_an_empty_choice_count_as_not_answered() -> None:
    accepted = accept(REVIEW, {"go": True, "area": "", "tags": None, "note": None})
    assert (accepted["area"], accepted["tags"], accepted["note"]) == (None, ["b"], "fine")


def test_a_hidden_field_is_not_required_and_its_answer_is_ignored() -> None:
    assert accept(REVIEW, {"go": True, "why": "because"})["why"] == ""
    assert wrong(REVIEW, go=False) == {"why": "is not answered; text is needed"}
    assert accept(REVIEW, {"go": False, "why": "because"})["why"] == "because"


def test_options_depend_on_answers() -> None:
    assert accept(REVIEW, {"go": True, "area": "none"})["area"] == "none"
    assert "area" in wrong(REVIEW, go=False, why="x", area="none")


def test_a_field_that_depends_on_a_hidden_field_is_hidden() -> None:
    form = make(
        {"id": "a", "type": "boolean"},
        {"id": "b", "type": "boolean", "when": {"field": "a", "equals": True}},
        {"id": "c", "required": True, "when": {"field": "b", "equals": False}},
    )
    assert not problems(form, {"a": False})
    assert [problem.field for problem in problems(form, {"a": True, "b": False})] == ["c"]


def test_a_default_is_used_only_if_it_can_be_chosen() -> None:
    form = make(
        {"id": "go", "type": "boolean"},
        {"id": "s", "options": ["a", {"value": "b", "when": {"field": "go", "equals": True}}], "default": "b"},
        {
            "id": "m",
            "type": "multi-select",
            "options": ["a", {"value": "b", "when": {"field": "go", "equals": True}}],
            "default": ["a", "b"],
        },
    )
    assert accept(form, {"go": True}) == {"go": True, "s": "b", "m": ["a", "b"]}
    assert accept(form, {"go": False}) == {"go": False, "s": None, "m": ["a"]}


def test_a_hidden_answer_does_not_enable_options_of_other_fields() -> None:
    form = make(
        {"id": "a", "type": "boolean"},
        {"id": "b", "options": ["x"], "default": "x", "when": {"field": "a", "equals": True}},
        {"id": "c", "required": True, "options": ["1", {"value": "2", "when": {"field": "b", "equals": "x"}}]},
    )
    assert initial(form) == {"a": False, "b": "x", "c": "1"}
    assert accept(form, {"a": True, "c": "2"}) == {"a": True, "b": "x", "c": "2"}
    assert [problem.field for problem in problems(form, {"a": False, "c": "2"})] == ["c"]


def test_a_form_is_immutable() -> None:
    assert isinstance(hash(REVIEW), int)
    accept(REVIEW, {"go": True})["tags"].append("c")
    assert accept(REVIEW, {"go": True})["tags"] == ["b"]


def test_a_condition_matches_one_of_several_choices() -> None:
    form = make(
        {"id": "m", "type": "multi-select", "options": ["x", "y", "z"]},
        {"id": "t", "required": True, "when": {"field": "m", "in": ["x", "y"]}},
    )
    assert not problems(form, {"m": ["z"]})
    assert [problem.field for problem in problems(form, {"m": ["z", "y"]})] == ["t"]


@pytest.mark.parametrize(
    ("values", "field", "said"),
    [
        ({}, "go", "is not answered; true or false is needed"),
        ({"go": "true"}, "go", "has to be true or false, found the text `true`"),
        ({"go": 1}, "go", "has to be true or false, found the number `1`"),
        ({"go": False, "why": " \n"}, "why", "is blank; text is needed"),
        ({"go": True, "note": 3}, "note", "has to be text, found the number `3`"),
        (
            {"go": True, "area": "croe"},
            "area",
            "has to be one of `ui`, `core`, `none`, found the text `croe`; did you mean `core`?",
        ),
        ({"go": True, "area": ["ui"]}, "area", "has to be one of `ui`, `core`, `none`, found a list"),
        ({"go": True, "tags": "a"}, "tags", "has to be a list of `a`, `b`, `c`, found the text `a`"),
        ({"go": True, "tags": ["a", 7]}, "tags", "may hold only `a`, `b`, `c`, found the number `7`"),
    ],
)
def test_a_problem_says_what_was_expected_and_what_was_found(values: dict[str, Any], field: str, said: str) -> None:
    assert wrong(REVIEW, **values) == {field: said}
    with pytest.raises(WrongAnswers, match=field):
        accept(REVIEW, values)


def test_all_problems_are_reported_together_in_the_order_of_the_fields() -> None:
    assert list(wrong(REVIEW, note=1, tags=2, go=3)) == ["go", "tags", "note"]


def test_a_required_multi_select_may_be_empty_only_without_options() -> None:
    field = {"id": "m", "type": "multi-select", "required": True}
    assert problems(make({**field, "options": ["a"]}), {"m": []})
    assert accept(make({**field, "options": []}), {}) == {"m": []}


def test_a_required_select_starts_with_its_first_option_and_an_optional_one_with_none() -> None:
    form = make({"id": "r", "required": True, "options": ["a", "b"]}, {"id": "o", "options": ["a", "b"]})
    assert initial(form) == {"r": "a", "o": None}


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ({"id": ""}, "field 1 has no `id`"),
        ("x", "field 1 has to be a mapping, found the text `x`"),
        ({"id": "x", "type": "txt"}, "found the text `txt`; did you mean `text`?"),
        ({"id": "x", "type": "multi-select"}, "field `x` needs `options`"),
        ({"id": "x", "type": "text", "options": ["a"]}, "its `type` is `text`"),
        ({"id": "x", "options": "a"}, "has to be a list"),
        ({"id": "x", "options": ["a", "a"]}, "field `x` has option `a` twice"),
        ({"id": "x", "options": [{"label": "A"}]}, "an option of field `x` has no `value`"),
        ({"id": "x", "options": ["a"], "default": "b"}, "`default` of field `x` has to be one of `a`"),
        ({"id": "x", "type": "boolean", "default": "yes"}, "has to be true or false, found the text `yes`"),
        ({"id": "x", "required": "yes"}, "`required` of field `x` has to be true or false"),
        ({"id": "x", "requierd": True}, "did you mean `required`?"),
        ({"id": "x", "label": ["a"]}, "`label` of field `x` has to be text, found a list"),
        ({"id": "x", "rows": 0}, "`rows` of field `x` has to be a whole number"),
        ({"id": "x", "when": {"field": "later", "equals": 1}}, "about an earlier field"),
        ({"id": "x", "when": {"field": "x"}}, "about an earlier field"),
    ],
)
def test_an_invalid_form_is_rejected(field: Any, said: str) -> None:
    with pytest.raises(Unresolved) as refused:
        make(field)
    assert refused.value.code == "form"
    assert said in refused.value.message


def test_all_problems_of_a_form_are_reported_together() -> None:
    with pytest.raises(Unresolved) as refused:
        form_from({"fields": [{"id": "x"}, {"id": "x", "rows": True}]})
    said = refused.value.message
    assert all(part in said for part in ("`formId` is missing", "field id `x` is used twice", "`rows` of field `x`"))


def test_the_short_form_of_a_field_is_enough() -> None:
    form = form_from({"formId": "f", "fields": [{"id": "size", "options": [1, 2], "default": 2}, {"id": "why"}]})
    assert form.title == "f"
    size, why = form.fields
    assert (size.type, size.label, size.default, [o.value for o in size.options]) == (
        "single-select", "size", "2", ["1", "2"],
    )  # fmt: skip
    assert why == FormField("why", "text", "why")


@pytest.mark.parametrize("text", ["high,hihg", "low,high,low", "high;low", "all"])
def test_an_invalid_list_of_severities_is_rejected(text: str) -> None:
    with pytest.raises(Unresolved):
        blocking_severities(text, {})


def test_case_and_spaces_of_severities_do_not_matter() -> None:
    assert blocking_severities(" HIGH , low,", {}) == ["high", "low"]


NAMES = ["a", "b", "c"]
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(0, 3),
    st.sampled_from(["", " ", "x", *NAMES]),
    st.lists(st.sampled_from(["x", 1, *NAMES]), max_size=3),
    st.just({}),
)


@st.composite
def forms(draw: st.DrawFn) -> Form:
    fields: list[dict[str, Any]] = []
    for place in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["boolean", "text", "single-select", "multi-select"]))
        field: dict[str, Any] = {"id": f"f{place}", "type": kind, "required": draw(st.booleans())}
        if kind.endswith("select"):
            field["options"] = [{"value": n, "when": condition(draw, place)} for n in draw(subsets())]
            names = [option["value"] for option in field["options"]]
            default = st.sampled_from([None, *names]) if kind == "single-select" else st.sampled_from([None, names])
        else:
            default = st.sampled_from([None, True, False]) if kind == "boolean" else st.sampled_from([None, "", "d"])
        fields.append({**field, "default": draw(default), "when": condition(draw, place)})
    return make(*fields)


def subsets() -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(NAMES), unique=True, max_size=3)


def condition(draw: st.DrawFn, place: int) -> dict[str, Any] | None:
    if not place or draw(st.booleans()):
        return None
    field = f"f{draw(st.integers(0, place - 1))}"
    return {"field": field, "in": draw(st.lists(st.sampled_from([True, False, *NAMES]), min_size=1, max_size=2))}


ANSWERS = st.dictionaries(st.sampled_from(["f0", "f1", "f2", "f3", "zzz"]), VALUES)


@given(forms(), ANSWERS)
def test_answers_are_either_accepted_or_have_problems(form: Form, values: dict[str, Any]) -> None:
    found = problems(form, values)
    if found:
        with pytest.raises(WrongAnswers):
            accept(form, values)
        assert {problem.field for problem in found} <= {field.id for field in form.fields}
        return
    accepted = accept(form, values)
    assert list(accepted) == [field.id for field in form.fields]
    assert accept(form, accepted) == accepted
    assert all(has_right_types(field, accepted) for field in form.fields)


def has_right_types(field: FormField, values: dict[str, Any]) -> bool:
    value, names = values[field.id], [option.value for option in choices(field, values)]
    match field.type:
        case "boolean":
            return isinstance(value, bool)
        case "text":
            return isinstance(value, str)
        case "single-select":
            return value is None or value in names
        case "multi-select":
            return all(item in names for item in value) and len(set(value)) == len(value)


@given(forms(), ANSWERS)
def test_plain_fields_agree_with_an_independent_implementation_of_the_rules(form: Form, values: dict[str, Any]) -> None:
    free = replace(form, fields=tuple(_plain(field) for field in form.fields))
    bad = {field.id for field in free.fields if not is_valid(field, values.get(field.id))}
    assert {problem.field for problem in problems(free, values)} == bad


def _plain(field: FormField) -> FormField:
    return replace(field, when=None, default=None, options=tuple(replace(o, when=None) for o in field.options))


def is_valid(field: FormField, value: Any) -> bool:
    names = {option.value for option in field.options}
    needed = field.required and (names or field.type in ("boolean", "text"))
    if value is None or (value == "" and field.type == "single-select"):
        return not needed
    if field.type == "boolean":
        return value is True or value is False
    if field.type == "text":
        return isinstance(value, str) and not (needed and value.strip() == "")
    if field.type == "single-select":
        return isinstance(value, str) and value in names
    return isinstance(value, list) and all(v in names for v in value) and not (needed and value == [])


@given(forms())
def test_the_first_values_have_no_problems_but_missing_answers(form: Form) -> None:
    shown = initial(form)
    empty = [shown[problem.field] for problem in problems(form, shown)]
    assert all(value == [] or (isinstance(value, str) and not value.strip()) for value in empty)


@given(forms())
def test_a_form_survives_a_round_trip_through_json(form: Form) -> None:
    assert form_from(json.loads(json.dumps(to_json(form)))) == form


def test_of_a_list_of_initial_values_those_are_shown_that_can_be_chosen() -> None:
    shown = initial(with_initial(REVIEW, {"tags": ["c", "gone"], "area": "gone", "note": 7}))
    assert (shown["tags"], shown["area"], shown["note"]) == (["c"], initial(REVIEW)["area"], "fine")
