"""Position, steps, status line, answers and messages after every action of a case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance import corpus, differences, gists, reference
from conformance.host import Host
from conformance.ideal import Ideal
from conformance.seen import Seen, recorded

DEFAULT_REMINDER = "<default reminder naming phase "


@pytest.mark.whole(10)
@corpus.every("transitions")
def test_a_session_moves_as_in_pi_workflows(case: corpus.Case, tmp_path: Path) -> None:
    host = Host(tmp_path.resolve(), case)
    ideal = Ideal(host.catalog, host.task_id, says_yes=host.says_yes)
    expected = differences.expected(case)
    assert not gists.unanswered(expected["loadWarnings"], host.catalog().problems, str(host.workflows))
    end: dict[str, Any] = {}
    for step in expected["steps"]:
        seen, right = host.do(step["action"]), ideal.do(step["action"])
        assert_same(seen, right)
        if not is_wrong(case):
            assert_same(seen, corrected(recorded(step), right))
        if step["action"] == "loop" and "preferredPathAfterLoop" in expected:
            assert seen.facts
            assert seen.facts.path == [tuple(segment) for segment in expected["preferredPathAfterLoop"]]
        said = seen.events.get("message", end.get("said"))
        end = {"line": seen.line, "said": said, **(seen.facts._asdict() if seen.facts else {})}
    documented = expected.get("end", {})
    assert {name: end.get(name) for name in documented} == documented


def test_a_reopened_conversation_has_no_open_question(tmp_path: Path) -> None:
    host = Host(tmp_path.resolve(), {"definitions": {"flow": {"phases": ["p1"]}}})
    seen = [host.do(action) for action in ("start:flow:T", "cancel", "reload", "cancel")]
    assert [step.result.get("asked") for step in seen] == [None, True, None, True]
    assert seen[-1].facts
    assert seen[-1].facts.active


def is_wrong(case: corpus.Case) -> bool:
    """True if the steps of pi-workflows are wrong: a known defect, or it rereads files that a session has pinned."""
    edits = any(step["action"].startswith(("remove:", "redefine:")) for step in case["expect"]["steps"])
    return edits or ("seedQuirk" in case and "steps" not in differences.preferred(case))


def assert_same(seen: Seen, wanted: Seen) -> None:
    assert (seen.facts, seen.line) == (wanted.facts, wanted.line)
    assert seen.events.keys() == wanted.events.keys()
    for kind, text in wanted.events.items():
        if text.startswith(DEFAULT_REMINDER):
            assert text.removeprefix(DEFAULT_REMINDER).removesuffix(">") in seen.events[kind]
        else:
            assert seen.events[kind] == text
    assert {name: seen.result[name] for name in wanted.result} == wanted.result


def corrected(original: Seen, right: Seen) -> Seen:
    """What pi-workflows showed, corrected: positions are entered and placeholders are filled."""
    facts, line, result, events = original.facts, original.line, dict(original.result), dict(original.events)
    if facts and right.facts and facts.active and facts.path == right.facts.path[: len(facts.path)] != right.facts.path:
        facts, line = facts._replace(path=right.facts.path), right.line
        result = {**result, **{name: right.result[name] for name in ("to",) if name in result}}
    if facts and right.facts and facts.cancelled:
        facts = facts._replace(told=right.facts.told)
    if result.get("next") == "DONE":
        result["next"] = right.result["next"]
    if reference.leaves_open(events.get("message", "")):
        events["message"] = right.events["message"]
    if any(ord(char) > 0xFFFF for char in events.get("title", "")):
        events["title"] = right.events["title"]
    return Seen(facts, line, events, result)
