"""A step that was running at a kill: its `rerun` decides whether it runs again, a person is asked, or the run fails."""

from __future__ import annotations

import json
import signal

import pytest

from crash.cases import Case
from crash.children.doom import Doom
from crash.conftest import Stage
from crash.flows import command, phase
from crash.pool import Pool
from handrail.driven.engines.embedded.inbox import Inbox, Letter
from handrail.settings.secrets import Secrets
from support import Said

WORKED = Doom("torn", keep="nothing", event="NodeFinished", path="a/x")
NOT_YET = Doom("after", event="NodeStarted", path="a/x")
ANSWERED = Doom("after", event="Answered", path="a/x")


class Cut:
    """A run of two steps. Its driver was killed while the first step was running."""

    def __init__(self, pool: Pool, case: Case) -> None:
        self.pool = pool
        self.case = case

    def resume(self, *argv: str, doom: Doom | None = None) -> Said:
        return self.pool.run(self.case, "resume", "--quiet", *argv, doom=doom)

    def answer(self, word: str, doom: Doom | None = None) -> Said:
        letter = self.case.folder / "letter"
        letter.write_text(json.dumps({"rerun": word}))
        return self.pool.run(self.case, "answer", "--file", str(letter), "--quiet", doom=doom)

    def kill(self, doom: Doom) -> None:
        assert self.resume(doom=doom).code == -signal.SIGKILL

    @property
    def asked(self) -> list[str]:
        return list(self.case.run.state.questions)


def cut(pool: Pool, stage: Stage, rerun: str, doom: Doom = WORKED) -> Cut:
    begun = Cut(
        pool, stage.small(phase("a", command("x", "say", "x", more=rerun)) + phase("b", command("y", "say", "y")))
    )
    begun.kill(doom)
    return begun


@pytest.fixture
def unsure(pool: Pool, stage: Stage) -> Cut:
    """The step has no `rerun`, and it had finished before the kill."""
    return cut(pool, stage, "timeout: 60")


@pytest.mark.parametrize("rerun", ["timeout: 60", "rerun: ask"], ids=["no rerun", "rerun ask"])
@pytest.mark.parametrize(("doom", "times"), [(WORKED, 1), (NOT_YET, 0)], ids=["worked", "not yet"])
def test_a_person_is_asked_about_an_interrupted_command(
    pool: Pool, stage: Stage, rerun: str, doom: Doom, times: int
) -> None:
    run = cut(pool, stage, rerun, doom)
    said = run.resume("--json")
    assert said.code == 4
    assert said.data["status"] == "waiting"
    (question,) = said.data["questions"]
    assert question["path"] == "a/x"
    (field,) = question["form"]["fields"]
    assert [option["value"] for option in field["options"]] == ["again", "done", "fail"]
    assert run.case.logged() == ({"a/x": 1} if times else {})


def test_resuming_twice_asks_one_question(unsure: Cut) -> None:
    assert [unsure.resume().code for _ in range(3)] == [4, 4, 4]
    assert unsure.case.paths_of("Asked") == ["a/x"]
    assert unsure.case.logged() == {"a/x": 1}


def test_the_answer_again_reruns_the_command_with_the_same_key(unsure: Cut) -> None:
    unsure.resume()
    assert unsure.answer("again").code == 0
    assert unsure.case.status == "completed"
    assert unsure.case.lines() == ["a/x a/x", "a/x a/x", "b/y b/y"]


def test_the_answer_done_continues_without_a_rerun(unsure: Cut) -> None:
    unsure.resume()
    assert unsure.answer("done").code == 0
    assert unsure.case.status == "completed"
    assert unsure.case.logged() == {"a/x": 1, "b/y": 1}
    assert unsure.case.run.state.steps["a/x"].value == {"assumedDone": True}


def test_the_answer_fail_fails_the_run(unsure: Cut) -> None:
    unsure.resume()
    assert unsure.answer("fail").code == 1
    state = unsure.case.run.state
    assert (state.status, state.reason) == ("failed", "rerun at a/x")
    assert unsure.case.logged() == {"a/x": 1}


def test_after_the_answer_fail_a_resume_asks_again(unsure: Cut) -> None:
    unsure.resume()
    unsure.answer("fail")
    assert unsure.resume().code == 4
    assert unsure.answer("done").code == 0
    assert unsure.case.logged() == {"a/x": 1, "b/y": 1}


@pytest.mark.parametrize(("word", "code", "times"), [("again", 0, 2), ("done", 0, 1), ("fail", 1, 1)])
def test_the_answer_may_come_from_a_file(unsure: Cut, word: str, code: int, times: int) -> None:
    unsure.case.answers.write_text(json.dumps({"rerun": {"rerun": word}}))
    assert unsure.resume("--answers", str(unsure.case.answers)).code == code
    assert unsure.case.logged()["a/x"] == times


def test_an_interrupted_step_with_rerun_never_fails_with_code_rerun(pool: Pool, stage: Stage) -> None:
    run = cut(pool, stage, "rerun: never")
    assert run.resume().code == 1
    state = run.case.run.state
    assert (state.status, state.reason) == ("failed", "rerun at a/x")
    assert run.case.logged() == {"a/x": 1}


def test_an_interrupted_step_with_rerun_safe_reruns_with_the_same_key(pool: Pool, stage: Stage) -> None:
    run = cut(pool, stage, "rerun: safe")
    assert run.resume().code == 0
    assert run.case.lines() == ["a/x a/x", "a/x a/x", "b/y b/y"]
    assert run.case.paths_of("Asked") == []


@pytest.mark.parametrize("word", ["again", "done"])
def test_an_answer_in_the_journal_is_not_asked_for_again(unsure: Cut, word: str) -> None:
    unsure.resume()
    assert unsure.answer(word, doom=ANSWERED).code == -signal.SIGKILL
    assert unsure.resume().code == 0
    assert unsure.case.logged() == {"a/x": 2 if word == "again" else 1, "b/y": 1}


@pytest.mark.whole
def test_an_answer_that_is_not_in_the_journal_is_still_in_the_inbox(unsure: Cut) -> None:
    unsure.resume()
    assert unsure.answer("done", doom=ANSWERED._replace(how="torn", keep="half")).code == -signal.SIGKILL
    assert unsure.resume().code == 0
    assert unsure.case.logged() == {"a/x": 1, "b/y": 1}


def test_one_answer_is_never_used_for_two_questions(unsure: Cut) -> None:
    """Killed before the inbox is cleared, then killed during the rerun: that is a new question."""
    unsure.resume()
    assert unsure.answer("again", doom=ANSWERED).code == -signal.SIGKILL
    unsure.kill(WORKED)
    assert unsure.case.logged() == {"a/x": 2}
    assert unsure.resume().code == 4
    assert unsure.case.logged() == {"a/x": 2}


def test_an_invalid_answer_in_the_inbox_is_ignored(unsure: Cut) -> None:
    unsure.resume()
    Inbox(unsure.case.attempt, Secrets({})).put("q1", Letter({"rerun": "perhaps"}, None))
    assert unsure.resume(doom=Doom(seconds=10)).code == 4
