"""Questions for people: each is asked once, and its answer is recorded with the time at which it was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from handrail.contracts import Answer, Outside, Waiting
from handrail.runs import machine
from handrail.runs.embedded.attempts import number_of
from handrail.runs.embedded.digests import digest_of
from handrail.runs.embedded.inbox import Inbox, Letter
from handrail.runs.embedded.ledger import Ledger
from handrail.runs.questions import next_id
from handrail.runs.stored import question_for_people

CLI = "cli"
"""The surface of an answer that is given to the process that drives the run."""


class Asking:
    """The questions of one attempt of a run."""

    def __init__(self, ledger: Ledger, inbox: Inbox, clock: Callable[[], float], outside: Outside) -> None:
        self.ledger = ledger
        self.inbox = inbox
        self.clock = clock
        self.outside = outside

    async def answer(self, path: str, question: dict[str, Any]) -> Answer:
        """A person's answer. Raises `Waiting` if the person has not answered yet."""
        ledger, state = self.ledger, self.ledger.memory.state
        question = question_for_people(question, ledger.secrets)
        digest = digest_of(question)
        if (known := ledger.memory.answers.get((path, digest))) is not None:
            return Answer(ledger.secrets.from_storage(known.values), known.at)
        asked = state.questions.get(path)
        if asked is None or asked.input != digest:
            if asked is not None:
                self.inbox.clear(asked.id)
            ledger.record(machine.Asked(path, digest, question, next_id(state, number_of(ledger.attempt))))
            asked = state.questions[path]
        letter = self.inbox.take(asked)
        if letter is None and self.outside.asker is not None:
            values = await self.outside.asker(asked.id, path, question)
            if values is not None:
                # unless another process answered first
                self.inbox.put(asked.id, Letter(values, self.outside.by, self.clock(), CLI))
                letter = self.inbox.take(asked)
        if letter is None:
            raise Waiting(path, str(question.get("title") or "a question"))
        answered = machine.Answered(path, digest, letter.values, asked.id, letter.by, letter.at, letter.surface)
        ledger.record(answered)
        self.inbox.clear(asked.id)
        return Answer(letter.values, letter.at)
