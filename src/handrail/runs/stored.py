"""Events of a run without the values of secrets: as they are stored, and as people see them. Pure.

Data that later steps use keeps references to the secrets. Texts for people are masked.
"""

from __future__ import annotations

from typing import Any

from handrail.contracts import NodeError
from handrail.runs.machine import EVENT_TYPES, Event, event_to_json
from handrail.secrets.redaction import Secrets, masked
from handrail.source.dataclasses import fields, replace

DATA = ("value", "values", "subject", "given")
"""Fields with data of steps and people. A resumed run uses them again."""
TEXTS = ("message", "text", "reason", "error", "question", "results")
"""Fields that only people read. All other fields are paths, kinds and digests, and never contain secrets."""


def _of(kind: type[Any], wanted: tuple[str, ...]) -> tuple[str, ...]:
    names = {field.name for field in fields(kind)}
    return tuple(name for name in wanted if name in names)


_FIELDS = {kind: (_of(kind, DATA), _of(kind, TEXTS)) for kind in EVENT_TYPES.values()}


def stored(event: Event, secrets: Secrets) -> Event:
    """The event as it is stored; the same object if it contains no secret."""
    data, texts = _FIELDS[type(event)]
    changes: dict[str, Any] = {}
    for names, change in ((data, secrets.for_storage), (texts, secrets.for_people)):
        for name in names:
            before = getattr(event, name)
            after = before if before is None else change(before)
            if after is not before:
                changes[name] = after
    return replace(event, **changes) if changes else event


def shown(event: Event) -> dict[str, Any]:
    """A stored event as JSON for people."""
    data = event_to_json(event)
    names = (*_FIELDS[type(event)][0], "written")
    return data | {name: masked(data[name]) for name in names if name in data}


def seen(event: Event) -> Event:
    """A stored event as people see it; the same object if it contains no secret."""
    names = _FIELDS[type(event)][0]
    if not names:
        return event
    changes: dict[str, Any] = {}
    for name in names:
        before = getattr(event, name)
        after = masked(before)
        if after is not before:
            changes[name] = after
    return replace(event, **changes) if changes else event


def question_for_people(question: dict[str, Any], secrets: Secrets) -> dict[str, Any]:
    """A form as people see it. Raises `NodeError` if a person would choose or accept a value that contains a secret."""
    for field in question.get("fields") or ():
        offered = [field.get("default"), *(option.get("value") for option in field.get("options") or ())]
        if secrets.for_people(offered) != offered:
            message = f"the field `{field.get('id')}` offers a value that contains a secret, and people must not see it"
            raise NodeError("form-secret", message, transient=False)
    masked_: dict[str, Any] = secrets.for_people(question)
    return masked_
