"""Two conversations in one folder at the same time, each with its own workflow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from real.claude import FREE, Claude, ended, new_id
from real.guests.guest import Phase, mark
from real.model import Model, Turn, tool_results
from real.turns import bash, step, write

MARKS = {key: [mark(key, "first"), mark(key, "second")] for key in ("quiet", "still")}


@pytest.fixture
def other() -> Iterator[Model]:
    """The model of the second conversation."""
    scripted = Model([])
    yield scripted
    scripted.close()


def slowly(turn: Turn) -> Turn:
    """The same turn, slow enough that the other conversation can act."""
    return turn._replace(text="Let me see. " * 3, slow=0.1)


def turns(claude: Claude, name: str) -> list[Turn]:
    try_both = [write(claude, f"{name}-written"), bash(f"echo ran > {name}-ran")]
    return [slowly(turn) for turn in (*try_both, Turn(), step("next"), *try_both, step("next"))] + [Turn("All done.")]


def test_two_conversations_at_the_same_time_are_independent(claude: Claude, model: Model, other: Model) -> None:
    claude.workflow(
        "quiet", Phase("first", "tools: {blacklist: [write]}"), Phase("second", "tools: {blacklist: [bash]}")
    )
    claude.workflow(
        "still", Phase("first", "tools: {blacklist: [bash]}"), Phase("second", "tools: {whitelist: [read]}")
    )
    one, two = new_id(), new_id()
    model.script(*turns(claude, "one"))
    other.script(*turns(claude, "two"))
    first = claude.spawn("/workflow quiet tea", *FREE, "--session-id", one)
    second = claude.spawn("/workflow still coffee", *FREE, "--session-id", two, ANTHROPIC_BASE_URL=other.url)
    with first, second:
        results = [ended(process).result for process in (first, second)]
    assert results == ["All done.", "All done."]
    assert (claude.at(one), claude.at(two)) == ("done", "done")
    made = sorted(path.name for path in claude.project.glob("*-*"))
    assert made == ["one-ran", "one-written", "two-written"]
    for said, own, foreign in ((model, "quiet", "still"), (other, "still", "quiet")):
        assert [said.last_texts().count(text) for text in MARKS[own]] == [1, 1]
        assert not any(text in said.last_texts() for text in MARKS[foreign])
        denied = [result for result in tool_results(said.received()[-1]) if "is not allowed in the phase" in result]
        assert len(denied) == (2 if own == "quiet" else 3)
        assert all(f"of {own.title()}." in result for result in denied)


def test_one_of_two_conversations_is_cancelled_and_the_other_continues(claude: Claude, model: Model) -> None:
    claude.workflow("w", Phase("look", "tools: {blacklist: [write]}"), Phase("build"))
    claude.write(".handrail/settings.yaml", "idleStops: 0\n")
    one, two = new_id(), new_id()
    for conversation in (one, two):
        model.script(Turn("A stop."))
        claude.run("/workflow w tea", *FREE, "--session-id", conversation)
    claude.handrail("cancel", "--yes", "--session", f"claude-{one}")
    for conversation, name in ((one, "free"), (two, "bound")):
        model.script(write(claude, name), Turn("Done."))
        claude.run("write it", *FREE, "--resume", conversation)
    assert [name for name in ("free", "bound") if (claude.project / name).exists()] == ["free"]
    assert (claude.at(one), claude.at(two)) == ("cancelled", "look")
