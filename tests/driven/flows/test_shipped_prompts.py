"""The prompts that Handrail ships: each can be used, and asks for files that its schemas describe."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from handrail.driven.artifacts.schemas import find_schema
from handrail.driven.flows.prompts import PromptLibrary, compose_prompt, language_part, optional_names, without_missing
from handrail.settings.folders import UserFolders, prompt_roots
from handrail.source.templates import placeholders

ROOTS = prompt_roots("/nowhere", UserFolders({"HOME": "/nowhere"}))
NAMES = sorted(path.stem for path in Path(ROOTS[-1][1]).glob("*.md"))


@pytest.fixture(scope="module")
def library() -> PromptLibrary:
    return PromptLibrary(ROOTS, lambda id_: find_schema(id_, "/nowhere", {}))


def test_all_prompts_of_agentweaver_are_there_and_one_for_any_check(library: PromptLibrary) -> None:
    assert len(library) == 29
    assert list(library) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_has_its_schemas_and_names_a_file_for_each(library: PromptLibrary, name: str) -> None:
    raw = Path(ROOTS[-1][1], f"{name}.md").read_text("utf-8")
    schemas = re.findall(r"^<!-- schema: (\S+) -->$", raw, re.MULTILINE)
    text = library[name].text
    assert "<!--" not in text
    assert text.count("```json") == len(schemas)
    written = re.findall(r"Write `\{(\w+_json_file)\}`", raw)
    assert len(set(written)) == len(written) >= len(schemas)
    assert "$ref" not in text


OWN = ("playbook-draft", "playbook-practice-candidates", "playbook-questions", "task-context-from-manual")
"""Prompts that read only what the project and the person who runs them wrote."""


@pytest.mark.parametrize("name", [name for name in NAMES if name not in OWN])
def test_a_prompt_that_hands_out_texts_of_others_says_that_they_are_no_orders(
    library: PromptLibrary, name: str
) -> None:
    assert re.search(r"\b(no|never an) (orders?|instructions?)\b", library[name].text)


def test_the_prompts_without_guidance_are_those_that_the_docs_name(library: PromptLibrary) -> None:
    text = (Path(__file__).parents[3] / "docs/design/differences.md").read_text()
    about = text[text.index("Whoever plans") : text.index("get none.")]
    named = set(re.findall(r"`([\w-]+)`", about))
    changing = {name for name in NAMES if re.search(r"(plan|fix|implement|analyze|review)", name)}
    foreign = {"gitlab-review", "gitlab-diff-review", "review-change", "review-summary"}  # of changes of others
    without = {name for name in changing - foreign if "project_guidance_file" not in library[name].text}
    assert named == without


@pytest.mark.parametrize("name", NAMES)
def test_every_placeholder_is_a_path_or_a_branch(library: PromptLibrary, name: str) -> None:
    names = {found for found, _ in placeholders(library[name].text)} | {*optional_names(library[name].text)}
    assert names
    assert all(found.endswith(("_file", "_folder", "_branch")) for found in names), names


def test_a_line_of_a_prompt_is_left_out_if_its_optional_value_is_missing() -> None:
    text = "Do it.\n\n- a: `{a?}`\n- b: `{b?}`\n\nWell."
    assert optional_names(text) == ["a", "b"]
    assert without_missing(text, {"a?": "x", "b?": "not provided"}) == "Do it.\n\n- a: `{a?}`\n\nWell."
    assert without_missing(text, {"a?": None, "b?": ""}) == "Do it.\n\nWell."


def test_a_task_prompt_has_headings_and_a_plain_one_has_none() -> None:
    assert compose_prompt("Do it.\n", ["Carefully."], is_plain=False) == (
        "# Task\n\nDo it.\n\n# Additional instructions\n\nCarefully."
    )
    assert compose_prompt("Do it.", [], is_plain=False) == "# Task\n\nDo it."
    assert compose_prompt("Do it.", ["Carefully.", ""], is_plain=True) == "Do it.\n\nCarefully."


def test_the_language_is_named_if_it_was_chosen_and_always_in_flows_of_agentweaver() -> None:
    assert "in German" in language_part("de", is_foreign=False)
    assert "in English" in language_part(None, is_foreign=True)
    assert language_part(None, is_foreign=False) == ""
