"""What an agent and a person are told about the answers to a form. Pure.

Three forms of AgentWeaver have words of their own; every other form is a list of its answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.forms.form import REVIEW_FIX, TASK_SOURCE, Form, FormField, is_shown
from handrail.source.values import as_text

INSTANT_TASK = "instant-task-input"
Answers = Mapping[str, Any]


def prompt_suffix(form: Form, answers: Answers, file: str | None) -> str:
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
    return _parts("Take into account what a person answered:", _file(file), summary(form, answers))


def review_fix_suffix(answers: Answers, file: str | None) -> str:
    """What a prompt says about the findings of a review that are to be fixed."""
    is_all = answers.get("apply_all") is True
    return _parts(
        "Fix what this selection says and nothing else:",
        f"Selection file: {file}" if file else "",
        f"apply_all: {'true' if is_all else 'false'}",
        _selected(answers),
        _under("Notes of the person:", _text(answers, "extra_notes")),
    )


def summary(form: Form, answers: Answers) -> str:
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
    shown = [field for field in form.fields if is_shown(field, answers)]
    return "\n".join(f"{field.label}: {_value(field, answers.get(field.id))}" for field in shown)


def _selected(answers: Answers) -> str:
    if answers.get("apply_all") is True:
        return "Fix all findings."
    titles = answers.get("selected_findings")
    lines = [f"- {as_text(title)}" for title in titles] if isinstance(titles, list) else []
    return (
        "\n".join(["Fix these findings:", *lines]) if lines else "No finding is selected, so there is nothing to fix."
    )


def _value(field: FormField, value: Any) -> str:
    if field.type == "boolean":
        return "yes" if value is True else "no"
    labels = {option.value: option.label for option in field.options}
    given = value if isinstance(value, list) else [value]
    return ", ".join(labels.get(item, as_text(item)) for item in given if item not in (None, "")) or "-"


def _text(answers: Answers, name: str) -> str:
    value = answers.get(name)
    return value.strip() if isinstance(value, str) else ""


def _file(file: str | None) -> str:
    return f"File with the answers: {file}" if file else ""


def _under(lead: str, text: str) -> str:
    return f"{lead}\n{text}" if text else ""


def _parts(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)
