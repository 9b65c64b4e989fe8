"""Which practices a task gets: strict matching, budgets, examples, and words of any script."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.steps.playbook.guidance import MAX_NAMED, Selection, SelectionRequest, select
from handrail.steps.playbook.spec import AppliesTo, Playbook, PlaybookEntry
from handrail.steps.playbook.survey import signals_of


def entry(id_: str, kind: Any = "practice", **more: Any) -> PlaybookEntry:
    applies = AppliesTo(**{name: more.pop(name) for name in list(more) if name in AppliesTo.__dataclass_fields__})
    return PlaybookEntry(kind, id_, f"Title {id_}", f"{id_}.md", more.pop("body", "Rule."), applies=applies, **more)


def chosen(
    *entries: PlaybookEntry, task: str = "", files: tuple[str, ...] = (), phase: str = "plan", **more: Any
) -> Selection:
    practices = tuple(one for one in entries if one.kind == "practice")
    examples = tuple(one for one in entries if one.kind == "example")
    book = Playbook("f", "P", practices=practices, examples=examples, **more)
    return select(book, SelectionRequest(phase, signals_of(task, files)))


def ids(selection: Selection) -> list[str]:
    return [one.entry.id for one in selection.chosen]


@pytest.mark.parametrize(
    ("one", "task", "files"),
    [
        (entry("a", languages=("Python",)), "fix it", ("src/a.py",)),
        (entry("a", languages=("golang",)), "change `cmd/main.go`", ()),
        (entry("a", languages=("go",)), "rewrite it in golang", ()),
        (entry("a", languages=("rust",)), "port it to Rust", ()),
        (entry("a", frameworks=("react",)), "a React component", ()),
        (entry("a", frameworks=("remix",)), "use Remix here", ()),
        (entry("a", globs=("web/**/*.{ts,tsx}",)), "", ("web/a/b.tsx",)),
        (entry("a", globs=("web/**",)), "look at web/index.html, please", ()),
        (entry("a", globs=("docs/**",)), "look at ./docs/x.md.", ()),
        (entry("a", keywords=("cache",)), "Add a CACHE.", ()),
        (entry("a", keywords=("db",)), "change the db schema", ()),
        (entry("a", keywords=("rate limit",)), "a rate\nlimit for logins", ()),
        (entry("a", keywords=("кэш",)), "Добавить Кэш", ()),
        (entry("a", keywords=("缓存",)), "请添加缓存层", ()),
        (entry("a", languages=("go",), keywords=("cache",)), "Add a cache in a.py", ("a.py",)),
    ],
)
def test_an_entry_is_chosen_if_something_in_it_fits(one: PlaybookEntry, task: str, files: tuple[str, ...]) -> None:
    assert ids(chosen(one, task=task, files=files)) == ["a"]


@pytest.mark.parametrize(
    ("one", "task", "files"),
    [
        (entry("a", languages=("python",)), "rename a button", ()),
        (entry("a", languages=("python",)), "", ("main.go",)),
        (entry("cache", keywords=("cache",), body="The cache is a cache."), "rename a button", ()),
        (entry("a", keywords=("cache",)), "cached", ()),
        (entry("a", keywords=("ui",)), "build a guide", ()),
        (entry("a", globs=("web/**",)), "", ("api/web.go",)),
        (entry("a", phases=("review",)), "", ()),
    ],
)
def test_an_entry_is_left_out_if_nothing_in_it_fits(one: PlaybookEntry, task: str, files: tuple[str, ...]) -> None:
    assert ids(chosen(one, task=task, files=files)) == []


def test_an_entry_for_every_task_is_chosen_without_a_keyword_as_reason() -> None:
    one = chosen(entry("a"), task="add a cache").chosen[0]
    assert (one.score, one.why) == (100, "for this phase")


def test_a_task_that_says_nothing_of_languages_is_about_those_of_the_project() -> None:
    rules = entry("py", languages=("python",)), entry("go", languages=("go",))
    assert ids(chosen(*rules, task="fix the login", languages=("python",))) == ["py"]
    assert ids(chosen(*rules, task="fix it", files=("main.go",), languages=("python",))) == ["go"]


def test_what_is_always_included_comes_first_in_every_phase() -> None:
    found = chosen(entry("a", severity="must"), entry("z", phases=("review",), keywords=("x",)), always=("z.md",))
    assert ids(found) == ["z", "a"]
    assert found.chosen[0].why == "for every task"


def test_the_budget_of_a_phase_holds_and_the_rest_is_named() -> None:
    many = [entry(f"p{number}", body="x" * 40) for number in range(4)]
    found = chosen(*many, phase="Design review", budgets={"design_review": 25})
    assert [one.is_told for one in found.chosen] == [True, True, False, False]
    assert (found.limit, found.used, found.characters) == (25, 20, 80)
    assert {one.left_out for one in found.chosen if not one.is_told} == {"over_budget"}


def test_a_phase_of_your_own_has_its_budget() -> None:
    found = chosen(entry("a", phases=("ship_it",)), phase="Ship it", budgets={"ship_it": 7})
    assert (ids(found), found.limit) == (["a"], 7)
    assert chosen(entry("a"), phase="ship").limit == 1000


def test_no_more_entries_are_named_than_an_agent_can_read() -> None:
    many = [entry(f"p{number:03}", body="x" * 2000) for number in range(200)]
    found = chosen(*many)
    assert (len(found.chosen), len(found.dropped)) == (MAX_NAMED, 200 - MAX_NAMED)


def test_examples_follow_the_manifest() -> None:
    three = [entry(f"e{number}", "example") for number in range(3)]
    assert ids(chosen(*three)) == ["e0", "e1", "e2"]
    assert ids(chosen(*three, max_examples=1)) == ["e0"]
    assert ids(chosen(*three, include_examples=False)) == []


def test_the_manifest_can_ask_for_agentweavers_matching() -> None:
    rules = entry("py", languages=("python",)), entry("e", "example")
    found = chosen(*rules, task="rename", matching="agentweaver", budgets={"plan": 5}, include_examples=False)
    assert (ids(found), found.limit) == (["e", "py"], 1200)
