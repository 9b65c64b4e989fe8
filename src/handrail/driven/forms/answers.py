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

from handrail.base.dataclasses import dataclass
from handrail.base.errors import UsageError
from handrail.base.files import Unreadable, read_limited
from handrail.driven.forms.form import AnswerProblem, Form, WrongAnswers, accept, unknown
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


@dataclass(frozen=True)
class Answers:
    """Answers from a file: mappings by question id, step path or form id. That of None fits any form with its fields.

    The place of a mapping is that of its name.
    """

    file: str
    sets: Mapping[str | None, TreeNode]

    def names(self, key: str | None) -> Mapping[str, tuple[int, int]]:
        """The fields of a set, with the place of each name."""
        return {name: self.sets[key].keys[name] for name in self.sets[key].value} if key in self.sets else {}

    def _key(self, form: Form, path: str, question: str) -> str | None:
        return next((key for key in (question, path, form.id) if key in self.sets), None)

    def for_form(self, form: Form, path: str, question: str = "") -> dict[str, Any] | None:
        """The values for a form. A list or a mapping for a field that takes JSON is its text."""
        key = self._key(form, path, question)
        nodes = dict(self.sets[key].value) if key in self.sets else {}
        as_data = {field.id for field in form.fields if field.json}
        if key is None:
            nodes |= {name: self.sets[name] for name in as_data if name in self.sets}
            if not {field.id for field in form.fields} & nodes.keys():
                return None
        values = {name: _value(node) for name, node in nodes.items()}
        for name in as_data & nodes.keys():
            if nodes[name].kind in ("list", "mapping"):
                values[name] = json.dumps(plain_data(nodes[name]), ensure_ascii=False)
        return values

    def place(self, form: Form, path: str, problem: AnswerProblem, question: str = "") -> tuple[int, int]:
        """Line and column of the wrong answer or its name, or of the whole set if the answer is missing."""
        whole = self.sets.get(self._key(form, path, question))
        if whole is None:
            return 1, 1
        node = whole.value.get(problem.field, whole)
        return (node is not whole and problem.is_name and whole.keys[problem.field]) or (node.line, node.column)


def _value(node: TreeNode) -> object:
    """The value of an answer. A number becomes its text, also in a list. The form says whether it fits."""
    if node.kind == "list":
        return [_value(item) for item in node.value]
    if node.kind == "mapping":
        return {name: _value(item) for name, item in node.value.items()}
    return node_text(node) if node.kind in ("integer", "number") else node.value


def read_answers(path: str) -> Answers:
    """The answers in a file; `-` is the standard input. Raises `UsageError` with all problems and their places."""
    source, problems = decode("<stdin>" if path == "-" else path, _read_bytes(path))
    tree = None if problems else _tree(source, problems)
    if not problems and (tree is None or tree.kind != "mapping"):
        place, what = ((1, 1, 1), "nothing") if tree is None else (tree.place, found(tree))
        problems.append(source.problem("answer", place, f"answers have to be a mapping, found {what}", _HINT))
    if tree is None or problems:
        raise _error(problems)
    return Answers(source.file, _sets(tree))


def _tree(source: Source, problems: list[Diagnostic]) -> TreeNode | None:
    """The parsed file. Text that begins like JSON is read as JSON; if it is not, as YAML."""
    is_json = _JSON.match(source.text) is not None
    tree, troubles = read_json(source.text, keeps_texts=True) if is_json else read_yaml(source.text)
    if is_json and tree is None:
        other, wrong = read_yaml(source.text)
        tree, troubles = (tree, troubles) if wrong else (other, wrong)
    problems.extend(source.problem(t.code, t.place, t.message, t.hint) for t in troubles)
    return tree


def _sets(tree: TreeNode) -> dict[str | None, TreeNode]:
    id_, values = tree.value.get("form_id"), tree.value.get("values")
    if id_ is not None and values is not None and id_.kind == "text" and values.kind == "mapping":
        return {id_.value: _with_place(values, tree.keys["values"])}
    bare = {name: node for name, node in tree.value.items() if node.kind != "mapping"}
    sets: dict[str | None, TreeNode] = {None: tree._replace(value=bare)} if bare or not tree.value else {}
    return sets | {name: _with_place(node, tree.keys[name]) for name, node in tree.value.items() if name not in bare}


def _with_place(node: TreeNode, place: tuple[int, int]) -> TreeNode:
    return node._replace(line=place[0], column=place[1])


def wrong_answers(
    answers: Answers, form: Form, path: str, problems: list[AnswerProblem], question: str = ""
) -> UsageError:
    """An error with the places of all wrong answers in the file."""
    places = [(answers.place(form, path, problem, question), problem.text) for problem in problems]
    return _error(
        [
            Diagnostic(code="answer", severity="error", file=answers.file, line=line, column=column, message=text)
            for (line, column), text in places
        ]
    )


def answers_for(answers: Answers, form: Form, path: str, question: str = "", *, is_only: bool = False) -> Any:
    """The answers of a file for a form; None if it has none. Raises `UsageError` with all problems and their places.

    With `is_only` the file is meant for this form, so an answer for another one counts as misspelt or missing.
    """
    file_values = answers.for_form(form, path, question)
    if file_values is None:
        if not is_only:
            return None
        file_values = {name: _value(answers.sets[None].value[name]) for name in answers.names(None)}
    misspelt = _misspelt(form, file_values)
    try:
        values = accept(form, file_values)
    except WrongAnswers as error:
        others = [name for name in unknown(form, file_values) if name not in {problem.field for problem in misspelt}]
        misspelt += [AnswerProblem(name, "is no field of the form", is_name=True) for name in others] if is_only else []
        raise wrong_answers(answers, form, path, [*misspelt, *error.problems], question) from error
    if misspelt:
        raise wrong_answers(answers, form, path, misspelt, question)
    return values


def _misspelt(form: Form, values: Mapping[str, object]) -> list[AnswerProblem]:
    """The answers that fit no field, but are spelt like a field without an answer."""
    open_fields = [field.id for field in form.fields if field.id not in values]
    close = ((name, did_you_mean(name, open_fields)) for name in unknown(form, values))
    return [AnswerProblem(name, f"is no field of the form; {hint}", is_name=True) for name, hint in close if hint]


def _error(problems: list[Diagnostic]) -> UsageError:
    by_place = sorted_problems(problems)
    lines = [f"{d.file}:{d.line}:{d.column}: {d.message}" for d in by_place]
    return UsageError("\n".join(lines), next((d.hint for d in by_place if d.hint), None))


def _read_bytes(path: str) -> bytes:
    if path == "-":
        data = sys.stdin.buffer.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise UsageError(f"the answers have more than {MAX_BYTES} bytes")
        return data
    try:
        return read_limited(path, MAX_BYTES)
    except Unreadable as error:
        hint: str | None = "write the answers to a file, or use `-`, the standard input"
        if error.is_missing:
            folder, name = os.path.split(path)
            try:
                hint = did_you_mean(name, sorted(os.listdir(folder or ".")))
            except (OSError, ValueError):
                hint = None
        raise UsageError(f"the answers file `{path}` {error.message}", hint) from error
