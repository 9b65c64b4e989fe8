"""A whole workflow in every host: nested, with a denied call, a failing exit check, an early stop and a loop."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.agents.probe.scripted_model import Turn
from handrail.app import App
from handrail.guided.workflows.plan import plan_to_json
from real.guests.guest import Guest, Phase, mark
from real.waiting import until

ALL = [mark("release", "plan"), mark("review", "judge"), mark("review", "sign"), mark("release", "ship")]
DENIED = "is not allowed in the phase Plan of Release"
FAILED = "report.txt"
REMINDED = "is not done yet"
STORY = [
    "Started the login",
    "SentOn 0",
    "Moved 0 1 planned",
    "Checked 1 False",
    "Checked 1 True",
    "Moved 1 2 judged",
    "Looped 2 1",
    "Checked 1 True",
    "Moved 1 2 judged again",
    "Moved 2 3 signed",
    "Finished 3 shipped",
    "Told",
]
"""The journal of the walk without times and ids."""


def moved(origin: int, phase: str, summary: str) -> dict[str, Any]:
    return {"type": "Moved", "origin": origin, "to": origin + 1, "phase": phase, "summary": summary}


MARK = "e7ad5dcd5dd98422"
"""What a failure is recognised by if it is repeated: made of what the check says, so it is the same everywhere."""


def checked(held: bool, detail: str) -> dict[str, Any]:
    result = {"name": FAILED, "kind": "file", "held": held, "detail": detail, "mark": "" if held else MARK}
    return {"type": "Checked", "at": 1, "results": [result]}


JOURNAL = [
    (
        "person",
        [
            {
                "type": "Started",
                "task": "the login",
                "idle_limit": 3,
                "reminder_limit": 12,
                "same_limit": 3,
                "cancel": "",
            }
        ],
    ),
    ("agent", [{"type": "SentOn", "at": 0, "idle": 1}]),
    ("agent", [moved(0, "Plan", "planned")]),
    ("agent", [checked(False, "it does not exist")]),
    ("agent", [checked(True, "8 bytes"), moved(1, "Judge", "judged")]),
    ("agent", [{"type": "Looped", "origin": 2, "to": 1}]),
    ("agent", [checked(True, "8 bytes"), moved(1, "Judge", "judged again")]),
    ("agent", [moved(2, "Sign", "signed")]),
    ("agent", [{"type": "Finished", "origin": 3, "phase": "Ship", "summary": "shipped"}]),
    ("agent", [{"type": "Told", "status": "done"}]),
]
"""What a workflow that a person started leaves behind, whole but for times and names.

The six agents leave it in a terminal and without one: twelve journals that equal this one, so they equal each other.
"""


def nested(guest: Guest) -> None:
    guest.workflow("release", Phase("plan", "tools:\n  blacklist: [edit, write]"), "@review", Phase("ship"))
    checked = Phase("judge", "exit:\n  - file: report.txt")
    guest.workflow("review", checked, Phase("sign"), head="show: workflows\n")


def walk(guest: Guest) -> list[Turn]:
    """The turns of a model that makes every mistake once."""
    return [
        guest.write("early.txt"),
        Turn("I stop here."),
        guest.step("next", "planned"),
        guest.step("next", "no report yet"),
        guest.write("report.txt"),
        guest.step("next", "judged"),
        guest.step("loop"),
        guest.step("next", "judged again"),
        guest.step("next", "signed"),
        guest.step("next", "shipped"),
        Turn("All done."),
    ]


def assert_walked(guest: Guest, *, in_run: bool = False) -> None:
    assert guest.at() == "done"
    is_restarted = in_run and guest.ends_at_stops
    story = [event for event in STORY if not (is_restarted and event.startswith("SentOn"))]
    assert guest.story() == story, "every agent leaves the same journal, in a terminal and without one"
    assert not guest.links(), "the person was told, so the link is gone"
    assert (guest.made("early.txt"), guest.made("report.txt")) == (False, True)
    texts = [request.text for request in guest.model.received()]
    assert ALL[0] in texts[0]
    assert not any(text in texts[0] for text in ALL[1:]), "only the current phase is shown"
    assert DENIED in texts[1]
    assert ("You were interrupted." if is_restarted else REMINDED) in texts[2]
    assert ALL[1] in texts[3]
    assert FAILED in texts[4]
    assert ALL[2] in texts[6]
    assert ALL[3] not in texts[8]
    assert ALL[3] in texts[9]
    assert len(texts) == len(walk(guest))


def assert_same_journal(guest: Guest) -> None:
    """The journal is `JOURNAL`, about the plan of the definitions that all guests have."""
    found, app = guest.journal(), App(str(guest.project), guest.env)
    (pinned,) = (guest.state / "sessions").glob(f"*/{guest.name}-*/plan-{found[0][1][0].pop('plan')}")
    plan = app.catalog.plan(app.catalog.find("release"))
    assert json.loads(pinned.read_text(encoding="utf-8")) == json.loads(json.dumps(plan_to_json(plan)))
    assert found == JOURNAL


@pytest.mark.smoke
def test_a_whole_workflow_without_a_terminal(guest: Guest) -> None:
    nested(guest)
    guest.model.script(*walk(guest))
    ran = guest.start("release the login")
    assert ran.code == 0, ran
    assert "All done." in ran.out
    assert_walked(guest)
    assert_same_journal(guest)


def test_a_whole_workflow_in_a_terminal(guest: Guest) -> None:
    nested(guest)
    guest.model.script(*walk(guest))
    with guest.screen() as screen:
        screen.say(f"{guest.start_command} release the login")
        screen.wait("All done.")
        guest.until_at("done")
        until(lambda: guest.story()[-1] == STORY[-1], "the last event of the journal")
    assert_walked(guest)
    assert_same_journal(guest)


@pytest.mark.smoke
def test_a_workflow_of_a_run_needs_no_installation(guest: Guest) -> None:
    """`handrail run` drives the agent: its own stubs, for this call only."""
    guest.handrail("uninstall", guest.name)
    nested(guest)
    guest.model.script(*walk(guest))
    ended = guest.handrail("run", "release", "the login", "--agent", guest.name, "--json", check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert_walked(guest, in_run=True)


@pytest.mark.rarely("opencode")
def test_a_run_counts_everything_once_if_the_agent_has_our_stubs_too(guest: Guest) -> None:
    nested(guest)
    guest.model.script(*walk(guest))
    ended = guest.handrail("run", "release", "the login", "--agent", guest.name, "--json", check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert_walked(guest, in_run=True)


@pytest.mark.rarely("opencode")
def test_without_a_workflow_nothing_is_said_and_nothing_is_denied(guest: Guest) -> None:
    nested(guest)
    guest.model.script(guest.write("free.txt"), Turn("It is written."))
    ran = guest.run("write a file")
    assert ran.code == 0, ran
    assert guest.made("free.txt")
    assert "Release" not in guest.told()


@pytest.mark.rarely("opencode")
def test_a_name_that_does_not_exist_starts_nothing(guest: Guest) -> None:
    nested(guest)
    with guest.screen() as screen:
        screen.say(f"{guest.start_command} relaese the login")
        screen.wait("release")
        screen.wait("relaese")
    assert not guest.sessions()
    assert not guest.model.received()
