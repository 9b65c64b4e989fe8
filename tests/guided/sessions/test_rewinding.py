"""A session that goes to another record of its journal, and one that takes over a workflow of another program."""

from __future__ import annotations

from pathlib import Path

import pytest

from guided.sessions.definitions import phase, plan, workflow
from handrail.base.journal import JournalDamaged
from handrail.guided.sessions.decisions import decide
from handrail.guided.sessions.hook_files import SessionRef
from handrail.guided.sessions.machine import Adopted, Next, Rewound, Start, Started, State, apply
from handrail.guided.sessions.store import Session

PLAN = plan(workflow("w", phase("look"), phase("build"), phase("ship")))


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A session in its second phase: two records."""
    made = Session(SessionRef(str(tmp_path / "s"), str(tmp_path), "s"), lambda: 1.0)
    made.do(Start(Started(made.pin(PLAN), "tea", "wf-1", 1.0)))
    made.do(Next("looked"))
    return made


def test_a_session_goes_back_and_forward_again(session: Session) -> None:
    later = session.read().state
    session.do(Rewound(1, session.state_after(1)))
    assert (session.read().state.at, session.read().state.steps) == (0, 0)
    session.do(Rewound(2, session.state_after(2)))
    assert session.read().state == later


def test_before_the_first_record_no_workflow_is_active(session: Session) -> None:
    session.do(Rewound(0, session.state_after(0)))
    card = session.card()
    assert session.read().state.status == "none"
    assert card is not None
    assert (card["gate"], card["context"], card["farewell"]) == (None, None, None)


def test_a_move_after_going_back_starts_from_there(session: Session) -> None:
    session.do(Next("built"))
    session.do(Rewound(1, session.state_after(1)))
    session.do(Next("looked again"))
    assert session.read().state.at == 1
    assert session.read().state.summaries == (("Look", "looked again"),)


def test_going_to_the_same_state_records_nothing(session: Session) -> None:
    assert session.do(Rewound(2, session.state_after(2))).decision.events == ()


def test_a_state_that_never_was_is_damage(session: Session) -> None:
    session.do(Rewound(1, session.state_after(1)._replace(at=2)))
    (Path(session.folder) / "card").unlink()
    with pytest.raises(JournalDamaged, match="no such state"):
        session.read()


def test_the_state_is_the_same_without_the_card(session: Session) -> None:
    session.do(Rewound(1, session.state_after(1)))
    known = session.read().state
    (Path(session.folder) / "card").unlink()
    assert session.read().state == known


def test_going_back_is_possible_after_the_end() -> None:
    done = State("done", at=2, steps=3, plan="p", told=True)
    active = State("active", at=1, steps=1, plan="p")
    decision = decide(PLAN, done, Rewound(2, active))
    assert decision.events == (Rewound(2, active),)
    assert apply(done, decision.events[0]) == active


def test_a_foreign_workflow_is_taken_over_only_if_none_is_active() -> None:
    foreign = State("active", at=1, steps=4, plan="p", task="tea")
    assert decide(None, State(), Adopted(foreign, "x")).events == (Adopted(foreign, "x"),)
    assert decide(PLAN, State("active", plan="p"), Adopted(foreign, "x")).events == ()


def test_a_workflow_of_another_program_is_entered_when_it_is_taken_over(tmp_path: Path) -> None:
    session = Session(SessionRef(str(tmp_path / "s"), str(tmp_path), "s"), lambda: 7.0)
    session.do(Adopted(State("active", at=1, plan=session.pin(PLAN)), "another program"))
    assert session.entered() == 7.0
