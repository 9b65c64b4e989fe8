"""Reads answers files, in JSON or YAML, and reports every problem with its place.

A file answers one form (`field: value`) or several: `QUESTION: {field: value}`, by the question's id, the step's path
or the form's id. Files that AgentWeaver wrote (`form_id`, `values`) work too.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from handrail.base.errors import UsageError
from handrail.base.files import Unreadable, read_limited
from handrail.driven.forms.form import AnswerProblem, Answers, Form, WrongAnswers, accept, unknown
from handrail.source.definition_files import MAX_BYTES, Source, decode
from handrail.source.diagnostics import Diagnostic, sorted_problems
from handrail.source.field_checks import plain_data
from handrail.source.fields import found
from handrail.source.json_reader import read_json
from handrail.source.suggestions import did_you_mean
from handrail.source.tree import TreeNode, node_text
from handrail.source.yaml_text import read_yaml

_HINT = "write `field: value` lines, or the form's id and its fields below it"
_JSON = re.compile(r'\s*\{\s*["}]')
LineColumn = tuple[int, int]


def read_answers(path: str) -> Answers:
    """The answers in a file; `-` is the standard input. Raises `UsageError` with all problems and their places."""
    source, problems = decode("<stdin>" if path == "-" else path, _read_bytes(path))
    reading = _AnswersReader(source, problems)
    if not problems:
        reading.read()
    if problems:
        raise _error(problems)
    return Answers(reading.sets, source.file, reading.places, reading.data, reading.keys)


def wrong_answers(
    answers: Answers, form: Form, path: str, problems: list[AnswerProblem], question: str = ""
) -> UsageError:
    """An error with the places of all wrong answers in the file."""
    places = [(answers.place(form, path, problem, question), problem.text) for problem in problems]
    found = [
        Diagnostic(code="answer", severity="error", file=answers.file, line=line, column=column, message=text)
        for (line, column), text in places
    ]
    return _error(found)


def accepted(answers: Answers, form: Form, path: str, question: str = "", *, is_only: bool = False) -> Any:
    """The answers of a file for a form; None if it has none. Raises `UsageError` with all problems and their places.

    With `is_only` the file is meant for this form, so an answer for another one counts as misspelt or missing.
    """
    given = answers.for_form(form, path, question)
    if given is None:
        if not is_only:
            return None
        given = dict(answers.sets.get(None, {}))
    misspelt = _misspelt(form, given)
    try:
        values = accept(form, given)
    except WrongAnswers as error:
        others = [name for name in unknown(form, given) if name not in {one.field for one in misspelt}]
        misspelt += [AnswerProblem(name, "is no field of the form", is_name=True) for name in others] if is_only else []
        raise wrong_answers(answers, form, path, [*misspelt, *error.problems], question) from error
    if misspelt:
        raise wrong_answers(answers, form, path, misspelt, question)
    return values


def _misspelt(form: Form, given: Mapping[str, object]) -> list[AnswerProblem]:
    """The answers that fit no field, but are spelt like a field without an answer."""
    open_fields = [field.id for field in form.fields if field.id not in given]
    close = ((name, did_you_mean(name, open_fields)) for name in unknown(form, given))
    return [AnswerProblem(name, f"is no field of the form; {hint}", is_name=True) for name, hint in close if hint]


def _error(problems: list[Diagnostic]) -> UsageError:
    ordered = sorted_problems(problems)
    lines = [f"{d.file}:{d.line}:{d.column}: {d.message}" for d in ordered]
    return UsageError("\n".join(lines), next((d.hint for d in ordered if d.hint), None))


def _read_bytes(path: str) -> bytes:
    if path == "-":
        data = sys.stdin.buffer.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise UsageError(f"the answers have more than {MAX_BYTES} bytes")
        return data
    try:
        return read_limited(path, MAX_BYTES)
    except Unreadable as error:
        hint = (
            _similar_file(path) if error.is_missing else "write the answers to a file, or use `-`, the standard input"
        )
        raise UsageError(f"the answers file `{path}` {error.message}", hint) from error


def _similar_file(path: str) -> str | None:
    folder, name = os.path.split(path)
    try:
        return did_you_mean(name, sorted(os.listdir(folder or ".")))
    except (OSError, ValueError):
        return None


class _AnswersReader:
    """Reads one answers file."""

    def __init__(self, source: Source, problems: list[Diagnostic]) -> None:
        self.source = source
        self.problems = problems
        self.sets: dict[str | None, dict[str, object]] = {}
        self.places: dict[tuple[str | None, str | None], LineColumn] = {}
        self.data: dict[tuple[str | None, str], str] = {}
        self.keys: dict[tuple[str | None, str], LineColumn] = {}

    def problem(self, node: TreeNode, message: str, hint: str | None = _HINT) -> None:
        self.problems.append(self.source.problem("answer", node.place, message, hint))

    def read(self) -> None:
        tree = self.tree()
        if tree is None:
            if not self.problems:
                self.problems.append(
                    self.source.problem("answer", (1, 1, 1), "answers have to be a mapping, found nothing", _HINT)
                )
        elif tree.kind != "mapping":
            self.problem(tree, f"answers have to be a mapping, found {found(tree)}")
        else:
            self.forms(tree)

    def tree(self) -> TreeNode | None:
        """The parsed file. Text that begins like JSON is read as JSON; if it is not, as YAML."""
        is_json = _JSON.match(self.source.text) is not None
        tree, troubles = read_json(self.source.text, keeps_texts=True) if is_json else read_yaml(self.source.text)
        if is_json and tree is None:
            other, wrong = read_yaml(self.source.text)
            tree, troubles = (tree, troubles) if wrong else (other, wrong)
        for t in troubles:
            self.problems.append(self.source.problem(t.code, t.place, t.message, t.hint))
        return tree

    def forms(self, tree: TreeNode) -> None:
        id_, values = tree.value.get("form_id"), tree.value.get("values")
        if id_ is not None and values is not None and id_.kind == "text" and values.kind == "mapping":
            return self.form(id_.value, values, tree.keys["values"])
        bare = {name: node for name, node in tree.value.items() if node.kind != "mapping"}
        if bare or not tree.value:
            self.form(None, tree._replace(value=bare), (tree.line, tree.column))
        for name, node in tree.value.items():
            if name not in bare:
                self.data[None, name] = as_json(node)
                self.form(name, node, tree.keys[name])
        return None

    def form(self, key: str | None, node: TreeNode, place: LineColumn) -> None:
        self.places[key, None] = place
        self.sets[key] = {}
        for name, item in node.value.items():
            self.places[key, name] = (item.line, item.column)
            self.keys[key, name] = node.keys[name]
            self.sets[key][name] = self.value(item)
            if item.kind in ("list", "mapping"):
                self.data[key, name] = as_json(item)

    def value(self, node: TreeNode) -> object:
        """The value of an answer. A number becomes its text, also in a list. The form says whether it fits."""
        if node.kind == "list":
            return [self.value(item) for item in node.value]
        if node.kind == "mapping":
            return {name: self.value(item) for name, item in node.value.items()}
        return node_text(node) if node.kind in ("integer", "number") else node.value


def as_json(node: TreeNode) -> str:
    return json.dumps(plain_data(node), ensure_ascii=False)
