"""pi-workflows and Handrail side by side: the same definitions and the same model in the same pi.

Positions, verdicts, status lines and the end agree. What differs is a defect of pi-workflows that Handrail does not
have; each of them is named here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from handrail.agents.pi.offline import MODEL
from handrail.agents.probe.scripted_model import Json, Turn
from handrail.app import App
from real.guests.pi import Pi
from real.hosts import CACHE
from real.rpc import Rpc
from real.waiting import until

ORIGINAL = CACHE / "pi-1.5" / "node_modules" / "@harms-haus" / "pi-workflows"
HEAD = "name: {name}\ncommandName: {key}\ninitialMessage: Begin {{description}}.\n{more}phases:\n"
PHASE = "---\nid: {id}\nname: {name}\nemoji: {emoji}\n{more}---\nDo {id} for {{description}}.\n"
CLOSED = "tools:\n  blacklist: [write]\n"


class Seen(NamedTuple):
    """What a person and a model saw of one session."""

    statuses: list[str]
    all_statuses: list[str | None]
    writes: list[bool]
    steps: list[tuple[bool, str]]
    complete: list[str]
    requests: list[str]
    states: list[Json]


class Pair(NamedTuple):
    original: Pi
    ours: Pi


def define(pi: Pi) -> None:
    """`demo`: plan, then the subworkflow `sub` (code, check), then report."""
    root = ".pi/workflows"
    entries = "  - plan.md\n  - subworkflow: sub\n  - report.md\n"
    pi.file(f"{root}/demo/workflow.yaml", HEAD.format(name="Demo Flow", key="demo", more="") + entries)
    hidden = HEAD.format(name="Build Sub", key="sub", more="show: workflows\n")
    pi.file(f"{root}/sub/workflow.yaml", hidden + "  - code.md\n  - check.md\n")
    for key, id_, emoji, more in (
        ("demo", "plan", "🧭", CLOSED),
        ("demo", "report", "📣", ""),
        ("sub", "code", "🔨", ""),
        ("sub", "check", "🔍", CLOSED),
    ):
        pi.file(f"{root}/{key}/{id_}.md", PHASE.format(id=id_, name=id_.title(), emoji=emoji, more=more))


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(Pi(tmp_path / "original"), Pi(tmp_path / "ours"))
    made.ours.handrail("install", "pi")
    for pi in made:
        define(pi)
    yield made
    for pi in made:
        pi.close()


def drive(pi: Pi, turns: list[Turn], until_done: Callable[[Rpc], object], *prompts: str) -> Seen:
    """One session in the RPC mode: start the workflow, wait for its end, then say more."""
    pi.model.script(*turns)
    more = ["-e", str(ORIGINAL)] if not pi.stubs()[0].exists() else []
    with Rpc([str(pi.seat.host.program), *MODEL, *more], pi.project, pi.env) as screen:
        screen.say("/workflow demo add login")
        until(lambda: until_done(screen), "the end")
        for prompt in prompts:
            asked = len(pi.model.received())
            screen.say(prompt)
            until(lambda asked=asked: len(pi.model.received()) > asked, "the next request")  # type: ignore[misc]  # bound
        found = screen.ask("get_entries")["entries"]
    return Seen(
        screen.statuses(),
        [event.get("statusText") for event in screen.requests("setStatus")],
        [ran for ran, _ in screen.results("write")],
        screen.results("workflow_step"),
        screen.messages("workflow:complete"),
        [request.text for request in pi.model.received()],
        [entry for entry in found if entry.get("type") == "custom"],
    )


def walk(pi: Pi) -> list[Turn]:
    """The turns of a model that makes mistakes: a denied call in two phases, an early stop, a loop."""
    return [
        pi.write("a.txt"),
        Turn("I stop here."),
        pi.step("next"),
        pi.write("b.txt"),
        pi.step("next"),
        pi.write("c.txt"),
        pi.step("loop"),
        pi.step("next"),
        pi.step("status"),
        pi.step("next"),
        pi.write("d.txt"),
        pi.step("next"),
        Turn("All done."),
    ]


def positions(pi: Pi, seen: Seen) -> list[list[tuple[str, int]]]:
    """Every position of a session in order, as a stack of (workflow, index).

    pi-workflows stores them in pi's history; Handrail's are in its journal.
    """
    stored = [entry["data"] for entry in seen.states if entry["customType"] == "workflow:state"]
    if stored:
        active = [state["currentPath"] for state in stored if state["active"]]
        return [[(level["workflowKey"], level["phaseIndex"]) for level in path] for path in active]
    app = App(str(pi.project), pi.env)
    stops = app.catalog.plan(app.catalog.find("demo")).stops
    moves = [words.split() for words in pi.story()]
    places = [0, *(int(words[2]) for words in moves if words[0] in ("Moved", "Looped"))]
    return [[(key, index) for key, index in stops[place].path] for place in places]


def is_complete(screen: Rpc) -> bool:
    return bool(screen.messages("workflow:complete"))


def test_both_walk_the_same_way(pair: Pair) -> None:
    original, ours = (drive(pi, walk(pi), is_complete) for pi in pair)
    assert ours.statuses == original.statuses == [
        "Demo Flow > 🧭 Plan [1/3]",
        "Demo Flow > Build Sub [2/3] > 🔨 Code [1/2]",
        "Demo Flow > Build Sub [2/3] > 🔍 Check [2/2]",
        "Demo Flow > Build Sub [2/3] > 🔨 Code [1/2]",
        "Demo Flow > Build Sub [2/3] > 🔍 Check [2/2]",
        "Demo Flow > 📣 Report [3/3]",
    ]  # fmt: skip
    ways = [positions(pi, seen) for pi, seen in zip(pair, (original, ours), strict=True)]
    assert ways[0] == ways[1]
    assert len(ways[1]) == len(ours.statuses)
    assert ours.writes == original.writes == [False, True, False, True]
    assert [ran for ran, _ in ours.steps] == [ran for ran, _ in original.steps] == [True] * 7
    assert len(ours.requests) == len(original.requests) == len(walk(pair.ours))
    for pi, seen in zip(pair, (original, ours), strict=True):
        assert [pi.made(f"{name}.txt") for name in "abcd"] == [False, True, False, True]
        assert len(seen.complete) == 1
        assert all(part in seen.complete[0] for part in ("Demo Flow", "add login"))
    last, session = original.states[-1]["data"], pair.ours.session()
    assert (last["active"], last["cancelled"], session["status"]) == (False, False, "done")
    assert [[level["workflowKey"], level["phaseIndex"]] for level in last["currentPath"]] == session["path"]
    assert (last["globalStepCount"], last["taskDescription"]) == (session["steps"], session["task"]) == (6, "add login")
    assert original.all_statuses[-1] is ours.all_statuses[-1] is None, "the status line is gone"


def test_what_handrail_does_better(pair: Pair) -> None:
    """Texts have no raw placeholders, the status does not flicker, and the last message stays with the person."""
    turns = [[pi.step("next"), pi.step("next"), pi.step("next"), pi.step("next"), Turn("All done.")] for pi in pair]
    original, ours = (
        drive(pi, [*given, Turn("Hello.")], is_complete, "hello") for pi, given in zip(pair, turns, strict=True)
    )
    assert "{description}" in original.steps[0][1]
    assert "{description}" not in ours.steps[0][1]
    assert "Do code for add login." in ours.steps[0][1]
    assert None in original.all_statuses[1:-1], "pi-workflows clears its status with every move"
    assert None not in ours.all_statuses[:-1]
    assert original.complete[0] in original.requests[-1]
    assert ours.requests[-1].count(ours.complete[0]) == 1, "the result of the last step says it, too"


def test_a_session_of_pi_workflows_continues_in_handrail(pair: Pair) -> None:
    pi = pair.original
    pi.model.script(pi.step("next"), Turn("I stop here."), Turn("never said"))
    with Rpc([str(pi.seat.host.program), *MODEL, "-e", str(ORIGINAL)], pi.project, pi.env) as screen:
        screen.say("/workflow demo add login")
        screen.wait(lambda event: "Auto-continuing" in str(event.get("widgetLines")))
        thread = str(screen.ask("get_state")["sessionId"])
    pi.handrail("install", "pi")
    pi.file(".handrail/settings.yaml", "idleStops: 0\n")
    pi.model.script(pi.step("next"), pi.write("bound.txt"), Turn("I may not."))
    pi.run("go on", thread)
    assert pi.at() == "check"
    assert not pi.made("bound.txt")
    pi.model.script(pi.step("next"), pi.step("next"), Turn("All done."))
    pi.run("go on", thread)
    assert pi.at() == "done"
