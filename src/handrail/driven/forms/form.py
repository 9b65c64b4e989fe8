"""Forms: questions for a person, which answers are valid, and what is told about the answers. Pure.

Values are plain JSON: true or false, text, the value of an option, or a list of such values; null is "not answered".
Three forms of AgentWeaver have words of their own. The severities of a review's findings are here as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from handrail.base.dataclasses import dataclass, replace
from handrail.source.plain_text import some
from handrail.source.suggestions import did_you_mean
from handrail.source.values import Unresolved, as_text, same

Type = Literal["boolean", "text", "single-select", "multi-select"]
TYPES: tuple[Type, ...] = ("boolean", "text", "single-select", "multi-select")
SEVERITIES = ("blocker", "critical", "high", "medium", "low", "info")
REVIEW_FIX = "review-fix-selection"
TASK_SOURCE = "task-describe-source-input"


@dataclass(frozen=True)
class When:
    """True if the answer of an earlier field is, or contains, one of these values."""

    field: str
    values: tuple[Any, ...]

    def holds(self, answers: Mapping[str, Any]) -> bool:
        answer = answers.get(self.field)
        items = answer if isinstance(answer, list) else [answer]
        return any(same(item, value) for item in items for value in self.values)


@dataclass(frozen=True)
class Option:
    value: str
    label: str
    description: str = ""
    when: When | None = None


@dataclass(frozen=True)
class FormField:
    """One question. `default` has the type of the field (a tuple for multi-select), or is None.

    `json`: the text may be JSON, so an answers file may have a list or a mapping in its place.
    """

    id: str
    type: Type
    label: str
    help: str = ""
    required: bool = False
    default: Any = None
    options: tuple[Option, ...] = ()
    multiline: bool = False
    rows: int | None = None
    placeholder: str = ""
    when: When | None = None
    json: bool = False

    @property
    def is_select(self) -> bool:
        return self.type in ("single-select", "multi-select")

    @property
    def blank(self) -> Any:
        """The value of an optional field that was not answered."""
        return {"boolean": False, "text": "", "single-select": None, "multi-select": []}[self.type]

    @property
    def given_default(self) -> Any:
        return list(self.default) if isinstance(self.default, tuple) else self.default


@dataclass(frozen=True)
class Form:
    id: str
    title: str
    description: str
    fields: tuple[FormField, ...]
    submit: str = ""


@dataclass(frozen=True)
class AnswerProblem:
    """A wrong answer. The message continues a sentence that begins with the field's name. `is_name`: that is wrong."""

    field: str
    message: str
    is_name: bool = False

    @property
    def text(self) -> str:
        return f"`{self.field}` {self.message}"


class WrongAnswers(Exception):
    """Values that a form does not accept, with all problems."""

    def __init__(self, problems: list[AnswerProblem]) -> None:
        super().__init__("; ".join(problem.text for problem in problems))
        self.problems = problems


def is_shown(field: FormField, answers: Mapping[str, Any]) -> bool:
    return field.when is None or field.when.holds(answers)


def choices(field: FormField, answers: Mapping[str, Any]) -> tuple[Option, ...]:
    return tuple(option for option in field.options if option.when is None or option.when.holds(answers))


def initial(form: Form, values: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The values that a form shows before a person answers: these where they fit, else the defaults."""
    answers: dict[str, Any] = {}
    start_values: dict[str, Any] = {}
    for field in form.fields:
        names = [option.value for option in choices(field, answers)]
        value = _fitting(field, names, None if values is None else values.get(field.id))
        if value is None:
            value = names[0] if field.type == "single-select" and field.required and names else field.blank
        start_values[field.id], answers[field.id] = value, value if is_shown(field, answers) else None
    return start_values


def _fitting(field: FormField, names: list[str], value: Any) -> Any:
    """The value if it has the type of the field, else its default, else None. Of a list, only what can be chosen."""
    for candidate in (value, field.default):
        if field.type == "multi-select" and isinstance(candidate, list | tuple):
            return [name for name in _once(list(candidate)) if name in names]
        is_text = field.type == "text" and isinstance(candidate, str)
        is_boolean = field.type == "boolean" and isinstance(candidate, bool)
        if is_text or is_boolean or (field.type == "single-select" and candidate in names):
            return candidate
    return None


def with_initial(form: Form, values: Any) -> Form:
    """The form with these values as defaults, where they fit the field. Any other value is ignored."""
    values = values if isinstance(values, Mapping) else {}
    fitting = initial(form, values)
    fields = list(form.fields)
    for number, field in enumerate(form.fields):
        value, names = fitting[field.id], [option.value for option in field.options]
        if values.get(field.id) is not None and wrong_with(replace(field, required=False), names, value) is None:
            fields[number] = replace(field, default=tuple(value) if isinstance(value, list) else value)
    return replace(form, fields=tuple(fields))


def _once(items: list[Any]) -> list[str]:
    return list(dict.fromkeys(item for item in items if isinstance(item, str)))


def problems(form: Form, values: Mapping[str, Any]) -> list[AnswerProblem]:
    return _check_answers(form, values)[1]


def accept(form: Form, values: Mapping[str, Any]) -> dict[str, Any]:
    """The answers for a flow: one value per field and no others. Raises `WrongAnswers`."""
    answers, wrong = _check_answers(form, values)
    if wrong:
        raise WrongAnswers(wrong)
    return answers


def unknown(form: Form, values: Mapping[str, Any]) -> list[str]:
    """Names of values that match no field. They are dropped; a user interface may say so."""
    known = {field.id for field in form.fields}
    return [name for name in values if name not in known]


def _check_answers(form: Form, values: Mapping[str, Any]) -> tuple[dict[str, Any], list[AnswerProblem]]:
    so_far: dict[str, Any] = {}
    answers: dict[str, Any] = {}
    wrong: list[AnswerProblem] = []
    for field in form.fields:
        so_far[field.id], answers[field.id] = None, field.blank
        if not is_shown(field, so_far):
            continue
        names = [option.value for option in choices(field, so_far)]
        value = _with_default(field, names, values.get(field.id))
        message = wrong_with(field, names, value)
        if message:
            wrong.append(AnswerProblem(field.id, message))
        elif value is not None:
            answers[field.id] = _once(value) if field.type == "multi-select" else value
        so_far[field.id] = value if message else answers[field.id]
    bad = {problem.field for problem in wrong}
    return answers, wrong + [problem for problem in _wrong_together(form, answers) if problem.field not in bad]


def _wrong_together(form: Form, answers: Mapping[str, Any]) -> list[AnswerProblem]:
    """What is wrong with several answers together, for two forms of AgentWeaver."""
    ids = [field.id for field in form.fields]
    if form.id == REVIEW_FIX and "apply_all" in ids:
        field = "selected_findings" if "selected_findings" in ids else "apply_all"
        if answers["apply_all"] and answers.get("selected_findings"):
            return [AnswerProblem(field, "does not go together with `apply_all: true`; choose findings, or fix all")]
        if not answers["apply_all"] and not answers.get("selected_findings"):
            message = "chooses nothing; choose at least one finding, or fix all with `apply_all`"
            return [AnswerProblem(field, message)]
    if form.id == TASK_SOURCE and {"jira_ref", "task_description"} <= set(ids):
        first, last = sorted(("jira_ref", "task_description"), key=ids.index)
        count = sum(bool(str(answers[id_] or "").strip()) for id_ in (first, last))
        return [] if count == 1 else [AnswerProblem(last, f"or `{first}` has to be filled in, and not both")]
    return []


def _with_default(field: FormField, names: list[str], value: Any) -> Any:
    """The value, or the default if there is no answer. An empty choice counts as no answer."""
    is_missing = value is None or (value == "" and field.type == "single-select" and "" not in names)
    if not is_missing:
        return value
    default = field.given_default
    if field.type == "single-select":
        return default if default in names else None
    return [name for name in default if name in names] if isinstance(default, list) else default


def wrong_with(field: FormField, names: list[str], value: Any) -> str | None:
    """What is wrong with a value of a field with these options. None if it is valid."""
    is_needed = field.required and (bool(names) or not field.is_select)
    if value is None:
        return f"is not answered; {_expected(field, names)} is needed" if is_needed else None
    if field.type == "multi-select":
        if isinstance(value, list):
            empty = "is empty; choose at least one" if is_needed and not value else None
            return empty or _wrong_choices("may hold only", names, value)
    elif field.type == "single-select":
        if isinstance(value, str):
            return _wrong_choices("has to be one of", names, [value])
    elif field.type == "text" and isinstance(value, str):
        return "is blank; text is needed" if is_needed and not value.strip() else None
    elif field.type == "boolean" and isinstance(value, bool):
        return None
    return f"has to be {_expected(field, names)}, found {value_words(value)}"


def _wrong_choices(rule: str, names: list[str], values: list[Any]) -> str | None:
    bad = [value for value in values if not isinstance(value, str) or value not in names]
    if not bad:
        return None
    if not names:
        return f"has no options to choose from, found {value_words(bad[0])}"
    hint = did_you_mean(bad[0], names) if isinstance(bad[0], str) else None
    return f"{rule} {_name_list(names)}, found {value_words(bad[0])}" + (f"; {hint}" if hint else "")


def _expected(field: FormField, names: list[str]) -> str:
    if field.type == "multi-select":
        return f"a list of {_name_list(names)}" if names else "an empty list"
    return {"boolean": "true or false", "text": "text", "single-select": one_of(names)}[field.type]


def one_of(names: Sequence[str]) -> str:
    return f"one of {_name_list(names)}" if names else "null, as there are no options to choose from"


def _name_list(names: Sequence[str]) -> str:
    return some([f"`{name}`" for name in names], 12)


def value_words(value: Any) -> str:
    """A value as text, for the second half of a sentence."""
    if isinstance(value, list | Mapping) or value is None:
        return "a list" if isinstance(value, list) else "nothing" if value is None else "a mapping"
    text = as_text(value)
    if isinstance(value, str) and not text.strip():
        return "a blank text"
    kind = "the truth value" if isinstance(value, bool) else "the text" if isinstance(value, str) else "the number"
    return f"{kind} `{text if len(text) <= 40 else text[:39] + '…'}`"


DEFAULT_BLOCKING_SEVERITIES = ("blocker", "critical", "high")
"""Findings of these severities block by default."""
SEVERITIES_VARIABLE = "AGENTWEAVER_REVIEW_BLOCKING_SEVERITIES"


def severity_of(value: Any) -> str | None:
    name = value.strip().lower() if isinstance(value, str) else ""
    return name if name in SEVERITIES else None


def blocking_severities(choice: Any, env: Mapping[str, str]) -> list[str]:
    """The severities that block: the given list or text, else the variable, else the default. An empty one is none.

    Raises `Unresolved` for an unknown or a repeated name: a misspelt severity would let findings pass.
    """
    for value in (choice, env.get(SEVERITIES_VARIABLE)):
        if isinstance(value, list) and any(not isinstance(item, str) for item in value):
            raise Unresolved("severities", "severities have to be texts")
        text = ",".join(value) if isinstance(value, list) else "" if value is None else as_text(value)
        names = [name for name in (part.strip().lower() for part in text.split(",")) if name]
        for place, name in enumerate(names):
            if name not in SEVERITIES:
                wrong = _wrong_choices("has to be one of", list(SEVERITIES), [name])
                raise Unresolved("severities", f"a severity {wrong}")
            if name in names[:place]:
                raise Unresolved("severities", f"severity `{name}` is given twice")
        if names:
            return names
    return list(DEFAULT_BLOCKING_SEVERITIES)


INSTANT_TASK = "instant-task-input"
AnswerValues = Mapping[str, Any]


def prompt_suffix(form: Form, answers: AnswerValues, file: str | None) -> str:
    """What a prompt says about the answers. `file` holds them as JSON. Empty for a form without fields."""
    if not form.fields:
        return ""
    if form.id == REVIEW_FIX:
        return review_fix_suffix(answers, file)
    if form.id == TASK_SOURCE and _text(answers, "jira_ref"):
        more = _text(answers, "additional_instructions")
        return _parts("A person gave these instructions for the task:", _file(file), more) if more else ""
    if form.id in (TASK_SOURCE, INSTANT_TASK):
        more = _under("Additional instructions:", _text(answers, "additional_instructions"))
        lead = "A person described the task. This description is what counts:"
        return _parts(lead, _file(file), _text(answers, "task_description"), more)
    return _parts("Take into account what a person answered:", _file(file), answers_summary(form, answers))


def review_fix_suffix(answers: AnswerValues, file: str | None) -> str:
    """What a prompt says about the findings of a review that are to be fixed."""
    is_all = answers.get("apply_all") is True
    return _parts(
        "Fix what this selection says and nothing else:",
        f"Selection file: {file}" if file else "",
        f"apply_all: {'true' if is_all else 'false'}",
        _selected(answers),
        _under("Notes of the person:", _text(answers, "extra_notes")),
    )


def answers_summary(form: Form, answers: AnswerValues) -> str:
    """The answers for a person. Empty for a form without fields."""
    if form.id == REVIEW_FIX and form.fields:
        return _parts(_selected(answers), _under("Notes:", _text(answers, "extra_notes")))
    if form.id in (TASK_SOURCE, INSTANT_TASK):
        issue = _text(answers, "jira_ref")
        more = _under("Additional instructions:", _text(answers, "additional_instructions"))
        if form.id == TASK_SOURCE:
            lead = f"Source: Jira, {issue}" if issue else "Source: a description"
            return _parts(lead, "" if issue else _text(answers, "task_description"), more)
        return _parts(_text(answers, "task_description"), more)
    fields = [field for field in form.fields if is_shown(field, answers)]
    return "\n".join(f"{field.label}: {_value(field, answers.get(field.id))}" for field in fields)


def _selected(answers: AnswerValues) -> str:
    if answers.get("apply_all") is True:
        return "Fix all findings."
    titles = answers.get("selected_findings")
    if not isinstance(titles, list) or not titles:
        return "No finding is selected, so there is nothing to fix."
    return "\n".join(["Fix these findings:", *(f"- {as_text(title)}" for title in titles)])


def _value(field: FormField, value: Any) -> str:
    if field.type == "boolean":
        return "yes" if value is True else "no"
    labels = {option.value: option.label for option in field.options}
    items = value if isinstance(value, list) else [value]
    return ", ".join(labels.get(item, as_text(item)) for item in items if item not in (None, "")) or "-"


def _text(answers: AnswerValues, name: str) -> str:
    value = answers.get(name)
    return value.strip() if isinstance(value, str) else ""


def _file(file: str | None) -> str:
    return f"File with the answers: {file}" if file else ""


def _under(lead: str, text: str) -> str:
    return f"{lead}\n{text}" if text else ""


def _parts(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)
