"""Everything in a project, in the order in which a person wants to see it."""

from __future__ import annotations

from typing import Any

from handrail.driven.runs.summary import Summary
from handrail.view.rows.home import HomeTopic, SessionLine, nodes_with_interruption, with_interruption


def run(id_: str, status: str, **fields: Any) -> Summary:
    return Summary(**{"id": id_, "flow": "release", "status": status, "driver": None, "why": "", **fields})


def shown(*known: Summary | SessionLine, seen: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """The ids of each group, in order."""
    topic = HomeTopic("p")
    runs = [one for one in known if isinstance(one, Summary)]
    topic.update(runs, [one for one in known if isinstance(one, SessionLine)], {f"run:{id_}": 99.0 for id_ in seen})
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
        SessionLine("idle", "Ship", "login", "active", ("Build",), "claude", 1.0, let_go="no progress"),
    ) == {
        "needs": ["run:asks", "run:asks-later", "session:idle", "run:killed", "run:failed-newer", "run:failed-new"],
    }


def test_what_runs_is_ordered_by_its_start_and_what_ended_by_its_end() -> None:
    assert shown(
        run("old", "running", driver=7, created=1.0),
        run("new", "running", driver=8, created=5.0),
        SessionLine("s", "Ship", "login", "active", ("Build",), "claude", 3.0),
        run("done", "completed", created=1.0, ended=50.0),
        run("looked-at", "failed", created=1.0, ended=60.0),
        SessionLine("gone", "Ship", "x", "done", (), "claude", 1.0, changed=55.0),
        seen=("looked-at",),
    ) == {
        "running": ["run:new", "session:s", "run:old"],
        "recent": ["run:looked-at", "session:gone", "run:done"],
    }


def test_what_waits_for_a_time_is_a_group_of_its_own() -> None:
    def until(moment: float) -> dict[str, Any]:
        return {"delay": {"path": "a/b", "until": moment, "reason": "quota of claude"}}

    assert shown(
        run("late", "running", driver=1, created=1.0, glance=until(300.0)),
        run("soon", "running", driver=2, created=2.0, glance=until(200.0)),
        run("at-work", "running", driver=3, created=3.0, glance={"delay": None}),
        run("killed", "running", created=4.0, glance=until(100.0)),
        run("survived", "running", created=5.0, started=6.0, goes_on=True),
    ) == {
        "needs": ["run:killed"],
        "running": ["run:survived", "run:at-work"],
        "delayed": ["run:soon", "run:late"],
    }


def test_a_failure_that_is_later_than_its_last_look_is_new_again() -> None:
    topic = HomeTopic("p")
    failed = run("a", "failed", created=1.0, ended=50.0)
    for opened, group in ((None, "needs"), (49.0, "needs"), (50.0, "recent")):
        topic.update([failed], [], {} if opened is None else {"run:a": opened})
        (row,) = topic.rows.section("entries")
        assert (row["group"], row["seen"]) == (group, group == "recent")


def test_a_damaged_run_is_a_row_that_says_what_is_wrong() -> None:
    topic = HomeTopic("p")
    broken = SessionLine("s", "", "", "damaged", problem="the journal `/state/s/journal` is damaged at record 4")
    topic.update([run("a", "damaged", why="the journal `/state/a/1/journal` is damaged at record 41")], [broken], {})
    rows = {row["id"]: row for row in topic.rows.section("entries")}
    assert rows["run:a"]["why"]["message"] == (
        "cannot be read: the journal is damaged at record 41; `handrail log a` shows the readable part"
    )
    assert rows["session:s"]["why"]["message"] == "cannot be read: the journal is damaged at record 4"
    assert [row["group"] for row in rows.values()] == ["needs", "needs"]


def test_a_session_whose_agent_stopped_is_interrupted_and_one_that_asks_waits() -> None:
    topic = HomeTopic("p")
    stopped = SessionLine("s", "Ship", "login", "active", let_go="no progress")
    topic.update([], [stopped, stopped._replace(id="a", asks={"formId": "f", "title": "Sure?", "fields": []})], {})
    rows = {row["id"]: row for row in topic.rows.section("entries")}
    assert (rows["session:s"]["status"], rows["session:a"]["status"]) == ("interrupted", "waiting")


def test_the_head_counts_what_there_is_and_what_is_not_shown() -> None:
    topic = HomeTopic("p")
    failures = [run(f"f{number}", "failed", created=1.0, ended=float(number)) for number in range(150)]
    ended = [run(f"r{number}", "completed", created=1.0, ended=float(number)) for number in range(300)]
    topic.update([*failures, *ended, run("now", "running", driver=1)], [], {}, {"project": "shop", "branch": "main"})
    head = topic.rows.get("head", "")
    assert head is not None
    assert [head[name] for name in ("project", "branch", "need", "running", "delayed")] == ["shop", "main", 150, 1, 0]
    assert (head["ended"], head["older"], head["hidden"]) == (300, 201, {"needs": 50})
    assert len(topic.rows.section("entries")) == 200
    pages = [row["id"] for row in topic.rows.section("entries") if row["group"] == "recent"]
    while page := topic.older(pages[-1]):
        pages += [row["id"] for row in page]
    assert pages == [f"run:r{number}" for number in reversed(range(300))]
    assert topic.older()[0]["id"] == pages[99]


def test_what_an_agent_wrote_is_clean_and_short() -> None:
    topic = HomeTopic("p")
    glance = {"place": ["a", "b\x1b[2J"], "doing": "x" * 900, "need": None}
    topic.update([run("a", "running", driver=1, given="\x1b]0;title\x07cart \u202e", glance=glance)], [], {})
    (row,) = topic.rows.section("entries")
    assert row["place"] == ["a", "b"]
    assert row["about"] == "cart ⟨U+202E⟩"
    assert len(row["doing"]) == 200
    delay = {"path": "a/b", "until": 9.0, "reason": "quota\x1b]52;c;eA==\x07 of claude"}
    topic.update([run("a", "running", driver=1, glance={"delay": delay})], [], {})
    (row,) = topic.rows.section("entries")
    assert row["delay"] == {"path": "a/b", "until": 9.0, "reason": "quota of claude"}


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
    topic.update([first._replace(status="completed", driver=None, ended=9.0), second], [], {})
    assert topic.rows.seq == 2
    topic.update([second], [], {})
    (message,) = topic.rows.messages("home", 2, 1.0)
    assert message["gone"] == {"entries": ["run:a"]}


def test_a_run_that_nobody_drives_is_interrupted_on_its_own_screen_too() -> None:
    entry = {"id": "run:r", "status": "interrupted", "seconds": 20.0, "atLeast": True}
    head = {"id": "run:r", "status": "delayed", "seconds": None, "since": 5.0, "atLeast": False}
    assert with_interruption(head, entry) == {**entry, "since": None}
    assert with_interruption(head, {**entry, "status": "delayed"}) == with_interruption(head, None) == head
    nodes = [{"id": one, "status": one} for one in ("running", "delayed", "waiting", "done")]
    found = [row["status"] for row in nodes_with_interruption(nodes, entry)]
    assert found == ["interrupted", "interrupted", "waiting", "done"]
    assert nodes_with_interruption(nodes, None) == nodes
