"""Everything in a project, in the order in which a person wants to see it."""

from __future__ import annotations

from typing import Any

from handrail.runs.summary import Summary
from handrail.topics.home import HomeTopic, Seated


def run(id_: str, status: str, **fields: Any) -> Summary:
    return Summary(**{"id": id_, "flow": "release", "status": status, "driver": None, "why": "", **fields})


def shown(*known: Summary | Seated, seen: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """The ids of each group, in order."""
    topic = HomeTopic("p")
    runs = [one for one in known if isinstance(one, Summary)]
    topic.update(runs, [one for one in known if isinstance(one, Seated)], dict.fromkeys(seen, 1.0))
    found: dict[str, list[str]] = {}
    for row in sorted(topic.rows.section("entries"), key=lambda row: row["order"]):
        found.setdefault(row["group"], []).append(row["id"])
    return found


def test_questions_come_first_then_what_stopped_then_new_failures() -> None:
    question = [{"question": "q1", "path": "a/b", "title": "Release?"}]
    assert shown(
        run("failed-new", "failed", created=1.0, ended=90.0),
        run("failed-newer", "failed", created=2.0, ended=95.0),
        run("killed", "running", created=3.0),
        run("asks-later", "waiting", created=9.0, questions=question),
        run("asks", "waiting", created=4.0, questions=question),
        Seated("idle", "Ship", "login", "active", "Build [2/4]", "claude", 1.0, let_go="no progress"),
    ) == {
        "needs": ["run:asks", "run:asks-later", "session:idle", "run:killed", "run:failed-newer", "run:failed-new"],
    }


def test_what_runs_is_ordered_by_its_start_and_what_ended_by_its_end() -> None:
    assert shown(
        run("old", "running", driver=7, created=1.0),
        run("new", "running", driver=8, created=5.0),
        Seated("s", "Ship", "login", "active", "Build [2/4]", "claude", 3.0),
        run("done", "completed", created=1.0, ended=50.0),
        run("looked-at", "failed", created=1.0, ended=60.0),
        Seated("gone", "Ship", "x", "done", None, "claude", 1.0, changed=55.0),
        seen=("looked-at",),
    ) == {
        "running": ["run:new", "session:s", "run:old"],
        "recent": ["run:looked-at", "session:gone", "run:done"],
    }


def test_a_hundred_ended_runs_are_kept() -> None:
    found = shown(*(run(f"r{number}", "completed", created=1.0, ended=float(number)) for number in range(130)))
    assert len(found["recent"]) == 100
    assert found["recent"][0] == "run:r129"


def test_only_what_changed_gets_a_new_number() -> None:
    topic = HomeTopic("p")
    first, second = run("a", "running", driver=1, created=1.0), run("b", "running", driver=2, created=2.0)
    topic.update([first, second], [], {})
    topic.update([first._replace(status="completed", driver=None, ended=9.0), second], [], {})
    (message,) = topic.rows.messages("home", 1, 1.0)
    assert [row["id"] for row in message["set"]["entries"]] == ["run:a"]
    topic.update([second], [], {})
    (message,) = topic.rows.messages("home", 2, 1.0)
    assert message["gone"] == {"entries": ["run:a"]}
