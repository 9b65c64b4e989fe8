"""Answers and stop requests for a run: any process writes them here, and the driver reads them.

The file of an answer is named after the question's id. It can be created only once, and it is removed only after the
journal has the answer. So of two answers to one question, exactly one is accepted. Each question is asked once, and its
answer is recorded with the time at which it was given.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from handrail.base import files
from handrail.base.digest import hex_digest
from handrail.base.errors import StateError
from handrail.driven.engines.embedded.run_folders import INBOX, RunGone, make_inside, number_of
from handrail.driven.engines.embedded.run_journal import Ledger, as_json, digest_of_text
from handrail.driven.flows.keys import ALL_TEXTS, UNATTENDED
from handrail.driven.forms import form, form_params
from handrail.driven.runs import run_events
from handrail.driven.runs.run_events import question_for_people
from handrail.driven.runs.run_rules import due_at, next_question_id
from handrail.driven.runs.state import RERUN, Question
from handrail.extensions.contracts import DefaultAnswer, FormAnswer, Outside, Waiting
from handrail.settings.folders import file_name
from handrail.settings.secrets import Secrets

STOP = "stop"
LOOK = "look"
NOTICES = "notices"
NOW = "0s"


class Letter(NamedTuple):
    """An answer, who gave it, when (in seconds since 1970), and where: `cli`, `tui` or `web`."""

    values: dict[str, Any]
    by: str | None
    at: float = 0.0
    surface: str | None = None


class Request:
    """A request to the driver of a run, with a text: a file that exists until the driver takes it."""

    def __init__(self, folder: str, name: str) -> None:
        self.folder = folder
        self.path = os.path.join(folder, name)

    def put(self, text: str = "") -> None:
        if not os.path.isdir(self.folder):
            raise RunGone(os.path.dirname(self.folder))
        files.replace(self.path, text.encode(), durable=False)

    def exists(self) -> bool:
        return os.path.exists(self.path)

    def take(self) -> str | None:
        """The text of the request, which is removed; None if there is none."""
        try:
            text = files.read_regular(self.path).decode("utf-8", "replace")
            os.unlink(self.path)
        except OSError:
            return None
        return text


class Inbox:
    """The inbox of one attempt of a run: an answer for each open question, and a request to stop.

    Answers are in stored form: without the values of secrets. `stop` asks the driver to end the run, `look` to look
    again at what its open questions are about instead of parking the run.
    """

    def __init__(self, folder: str, secrets: Secrets) -> None:
        self.run = folder
        self.secrets = secrets
        self.folder = os.path.join(folder, INBOX)
        self.stop = Request(folder, STOP)
        self.look = Request(folder, LOOK)

    def _file(self, question: str) -> str:
        return os.path.join(self.folder, file_name(question))

    def put(self, question: str, letter: Letter) -> bool:
        """Store an answer. False if the question already has one, which then stays."""
        make_inside(self.run, INBOX)
        path = self._file(question)
        new = f"{path}.{os.getpid()}.letter"
        stored = {**letter._asdict(), "values": self.secrets.for_storage(letter.values)}
        files.replace(new, json.dumps(stored, ensure_ascii=False).encode(), durable=True)
        try:
            os.link(new, path)
            files.sync_folder(self.folder)
        except FileExistsError:
            return False
        except OSError as error:
            raise StateError(f"`{path}` cannot be written: {error.strerror}") from error
        finally:
            files.remove(new)
        return True

    def is_same(self, question: str, values: Mapping[str, Any]) -> bool:
        """True if these values are the stored answer to a question."""
        try:
            stored = json.loads(files.read_regular(self._file(question)))["values"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return False
        return bool(stored == self.secrets.for_storage(values))

    def holds(self, question: str) -> bool:
        return os.path.exists(self._file(question))

    def take(self, asked: Question) -> Letter | None:
        """The answer to a question, or None if there is no valid one. It stays here until the journal has it.

        An invalid one is put aside, so that the question is asked again. Raises `StateError` if it cannot be read now.
        """
        path = self._file(asked.id)
        try:
            data = files.read_regular(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            message = f"the answer `{path}` cannot be read: {error.strerror}"
            raise StateError(message, files.way_out(path, error)) from error
        try:
            letter = json.loads(data)
            values = self.secrets.from_storage(letter["values"])
            accepted = form.accept(form_params.form_from(asked.question), values)
            return Letter(accepted, letter.get("by"), float(letter.get("at", 0.0)), letter.get("surface"))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, form.WrongAnswers):
            aside = os.path.join(self.run, f"{file_name(asked.id)}.invalid")
            os.replace(path, aside)
            self.put_notice(f"the stored answer to {asked.id} was not valid, so it is asked again; it is now `{aside}`")
            return None

    def clear(self, question: str) -> None:
        files.remove(self._file(question))

    def clear_closed(self, is_open: Mapping[str, Question]) -> None:
        """Remove the answers to questions that are not open. A killed driver may have left one."""
        open_names = {file_name(asked.id) for asked in is_open.values()}
        for entry in files.entries(self.folder):
            if entry.name not in open_names and not entry.name.endswith((".letter", ".new")):
                files.remove(entry.path)

    def put_notice(self, text: str) -> None:
        """Leave a notice for the driver. The same notice is left once."""
        folder = make_inside(self.run, NOTICES)
        files.replace(os.path.join(folder, hex_digest(text.encode())[:24]), text.encode(), durable=False)

    def take_notices(self) -> list[str]:
        """The notices that were left for the driver. They are removed."""
        found: list[str] = []
        with contextlib.suppress(OSError, UnicodeDecodeError):
            for entry in files.entries(os.path.join(self.run, NOTICES)):
                found.append(files.read_regular(entry.path).decode())
                os.unlink(entry.path)
        return found

    def has_news(self, is_open: Mapping[str, Question]) -> bool:
        """True if there is an answer to one of these questions, or if a look was requested, which is removed then."""
        return self.look.take() is not None or any(self.holds(asked.id) for asked in is_open.values())


CLI = "cli"
"""The surface of an answer that is given to the process that drives the run."""


class RunQuestions:
    def __init__(self, ledger: Ledger, inbox: Inbox, clock: Callable[[], float], outside: Outside) -> None:
        self.ledger = ledger
        self.inbox = inbox
        self.clock = clock
        self.outside = outside

    async def answer(
        self, path: str, question: dict[str, Any], fallback: Mapping[str, Any] | None = None
    ) -> FormAnswer:
        """A person's answer, or after the deadline the default. Raises `Waiting` if there is none yet."""
        ledger, state = self.ledger, self.ledger.state
        if fallback and (self.outside.is_unattended or fallback["deadline"] != UNATTENDED):
            question = self._with_default(path, question, fallback)
        question = question_for_people(question, ledger.secrets)
        question = self._with_known_reason(path, question)
        digest = digest_of_text(as_json(question))
        if (known := state.answers.get((path, digest))) is not None:
            return _form_answer(ledger.secrets.from_storage(known["values"]), known["at"], known.get("by"))
        asked = state.questions.get(path)
        if asked is None or asked.input != digest:
            if asked is not None:
                self.inbox.clear(asked.id)
            ledger.record(run_events.Asked(path, digest, question, next_question_id(state, number_of(ledger.attempt))))
            asked = state.questions[path]
        letter = self.inbox.take(asked)
        asker = self.outside.asker if letter is None else None
        if asker is not None and (values := await asker(asked.id, path, question)) is not None:
            self.inbox.put(asked.id, Letter(values, self.outside.by, self.clock(), CLI))
            letter = self.inbox.take(asked)  # perhaps that of another process, which was faster
        if letter is None and self.clock() >= due_at(asked):
            self.inbox.put(asked.id, Letter(question["default"], run_events.BY_DEADLINE, self.clock()))
            letter = self.inbox.take(asked)
        if letter is None:
            raise Waiting(path, str(question.get("title") or "a question"))
        answered = run_events.Answered(path, digest, letter.values, asked.id, letter.by, letter.at, letter.surface)
        ledger.record(answered)
        if letter.by == run_events.BY_DEADLINE:
            why = f"nobody answered {asked.id} within {question['deadline']}"
            if fallback is not None and fallback["deadline"] == UNATTENDED:
                why = f"nobody is there to answer {asked.id}"
            ledger.note(run_events.Noticed(path, f"{why}, so its default was taken"))
        self.inbox.clear(asked.id)
        return _form_answer(letter.values, letter.at, letter.by)

    def _with_known_reason(self, path: str, question: dict[str, Any]) -> dict[str, Any]:
        """A question whether a step may run again has the reason of now, unless a person has answered it already."""
        state = self.ledger.state
        known_questions = (state.questions.get(path), state.answered.get(path, (None, {}))[0])
        for known in filter(None, known_questions if question.get("formId") == RERUN else ()):
            is_answered = (path, known.input) in state.answers or self.inbox.holds(known.id)
            if is_answered and known.question == {**question, "title": known.question.get("title")}:
                return known.question
        return question

    def _with_default(self, path: str, question: dict[str, Any], fallback: Mapping[str, Any]) -> dict[str, Any]:
        """The question with the answer that is taken at its deadline. Its description tells both."""
        asked, deadline = form_params.form_from(question), str(fallback["deadline"]).replace(UNATTENDED, NOW)
        texts = [field.id for field in asked.fields if field.type == "text" and not field.default]
        default = dict(fallback["default"])
        default = {**dict.fromkeys(texts, default.pop(ALL_TEXTS, None)), **default}
        try:
            values = form.accept(asked, default)
        except form.WrongAnswers as error:
            text = f"the `default` of the question does not fit, so it stays open after its deadline: {error}"
            self.ledger.note(run_events.Noticed(path, text))
            return question
        answer = "; ".join(form.answers_summary(asked, values).splitlines())
        words = f"If nobody answers within {deadline}, this is taken: {answer}"
        description = "\n\n".join(filter(None, (asked.description, words)))
        return {**question, "description": description, "deadline": deadline, "default": values}


def _form_answer(values: dict[str, Any], at: float, by: str | None) -> FormAnswer:
    return (DefaultAnswer if by == run_events.BY_DEADLINE else FormAnswer)(values, at)
