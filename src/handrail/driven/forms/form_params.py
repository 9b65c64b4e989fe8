"""Reads a form from the params of a step, and writes it back as JSON for user interfaces. Pure.

All problems are reported together: at load for values in the file, and when the step runs for values that come from
expressions. Unknown keys are ignored unless they look like a typing error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from handrail.base.dataclasses import dataclass, replace
from handrail.driven.forms.form import TYPES, Form, FormField, Option, Type, When, one_of, value_words, wrong_with
from handrail.source.field_checks import Later
from handrail.source.suggestions import did_you_mean, nearest
from handrail.source.values import Unresolved, as_text

_OPTION_KEYS = ("value", "label", "description", "when")
_FIELD_KEYS = (
    *("id", "type", "label", "help", "required", "default", "options"),
    *("multiline", "rows", "placeholder", "when", "json"),
)
_WORDS = {"id": ("name", "key", "field"), "options": ("choices", "values", "items", "enum")}
"""Other words that people write for a key. They are only suggested."""
FieldPath = tuple[str | int, ...]
_MEANINGS: dict[str, Type] = {
    **dict.fromkeys(("select", "choice", "dropdown", "radio", "enum"), "single-select"),
    **dict.fromkeys(("multiselect", "checkboxes", "choices"), "multi-select"),
    **dict.fromkeys(("checkbox", "confirm", "yes-no"), "boolean"),
    **dict.fromkeys(("string", "str", "textarea", "input", "number"), "text"),
}
"""Other words that people write for a type. They are only suggested."""


@dataclass(frozen=True)
class FormProblem:
    """A problem of a form. `path` leads to it from the list of fields; `key` is the wrong key, if it is a key."""

    message: str
    path: FieldPath = ()
    key: str | None = None
    hint: str | None = None

    @property
    def text(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


def form_from(params: Mapping[str, Any]) -> Form:
    """The form that the params of a step describe, or that JSON does. Raises `Unresolved` with all problems."""
    part = _Part(params, "the form")
    id_ = part.text("formId")
    if not id_.strip():
        part.add("`formId` is missing")
    title, description, submit = part.text("title") or id_, part.text("description"), part.text("submitLabel")
    form = Form(id_, title, description, _fields(part, params.get("fields")), submit)
    if part.problems:
        problems = "; ".join(problem.text for problem in part.problems)
        raise Unresolved("form", f"form `{id_}` cannot be shown: {problems}")
    return form


def field_problems(fields: list[Any]) -> list[FormProblem]:
    """The problems of the fields of a form. `Later` marks values that are not known yet."""
    part = _Part({}, "the form")
    _fields(part, fields)
    return part.problems


class _Part:
    """Reads one mapping of a form: the form itself, a field or an option. All parts collect their problems together.

    `where` names it in messages, and `before` are the ids of the fields before it.
    """

    def __init__(self, data: Mapping[str, Any], where: str, path: FieldPath = ()) -> None:
        self.data = data
        self.where = where
        self.path = path
        self.before: list[str] = []
        self.problems: list[FormProblem] = []

    def inner(self, data: Mapping[str, Any], where: str, *path: str | int, before: list[str]) -> _Part:
        part = _Part(data, where, (*self.path, *path))
        part.before, part.problems = before, self.problems
        return part

    def add(self, message: str, *path: str | int, key: str | None = None, hint: str | None = None) -> None:
        self.problems.append(FormProblem(message, (*self.path, *path), key, hint))

    def text(self, name: str) -> str:
        value = self.data.get(name)
        if isinstance(value, list | Mapping):
            self.add(f"`{name}` of {self.where} has to be text, found {value_words(value)}", name)
            return ""
        return "" if value is None else value if isinstance(value, Later) else as_text(value)

    def flag(self, name: str) -> bool:
        value = self.data.get(name)
        if value is not None and not isinstance(value, bool | Later):
            self.add(f"`{name}` of {self.where} has to be true or false, found {value_words(value)}", name)
        return value is True

    def typing_errors(self, known: tuple[str, ...]) -> None:
        """Report unknown keys that are similar to known ones. Other unknown keys may belong to another tool."""
        for name in self.data:
            hint = None if name in known else did_you_mean(str(name), known)
            if hint:
                self.add(f"{self.where} has an unknown key `{name}`", key=str(name), hint=hint)

    def items(self, data: Any, name: str, *path: str) -> list[Any]:
        if isinstance(data, list | tuple):
            return list(data)
        if not isinstance(data, Later):
            self.add(f"`{name}` has to be a list, found {value_words(data)}", *path)
        return []

    def type(self) -> Type | None:
        """The type of a field. If it is unknown, the one that is probably meant, or None."""
        name = self.data.get("type")
        if name is None or isinstance(name, Later):
            return "text" if self.data.get("options") is None else "single-select"
        if name in TYPES:
            return cast("Type", name)
        near = nearest(as_text(name), TYPES)
        likely_type = _MEANINGS.get(as_text(name)) or (cast("Type", near[0]) if near else None)
        message = f"`type` of {self.where} has to be {one_of(TYPES)}, found {value_words(name)}"
        self.add(message, "type", hint=f"did you mean `{likely_type}`?" if likely_type else None)
        return likely_type

    def rows(self) -> int | None:
        value = self.data.get("rows")
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
            return value
        if not isinstance(value, Later):
            self.add(f"`rows` of {self.where} has to be a whole number, 1 or more, found {value_words(value)}", "rows")
        return None

    def options(self) -> tuple[Option, ...]:
        if self.data.get("options") is None:
            return ()
        options: list[Option] = []
        for place, item in enumerate(self.items(self.data["options"], f"options of {self.where}", "options")):
            data = item if isinstance(item, Mapping) else {"value": item}
            part = self.inner(data, f"an option of {self.where}", "options", place, before=self.before)
            value = part.text("value")
            if data.get("value") is None:
                part.add(f"{part.where} has no `value`")
            part.typing_errors(_OPTION_KEYS)
            options.append(Option(value, part.text("label") or value, part.text("description"), part.when()))
        values = [option.value for option in options]
        for place, value in enumerate(values):
            if value in values[:place] and not isinstance(value, Later) and value not in values[place + 1 :]:
                self.add(f"{self.where} has option `{value}` twice", "options", place)
        return tuple(options)

    def when(self) -> When | None:
        rule = self.data.get("when")
        if rule is None or isinstance(rule, Later):
            return None
        field_id = rule.get("field") if isinstance(rule, Mapping) else None
        is_open = isinstance(rule, Mapping) and any(isinstance(id_, Later) for id_ in (*self.before, field_id))
        if isinstance(field_id, str) and field_id not in self.before and not is_open:
            hint = did_you_mean(field_id, self.before) or f"fields before it: {', '.join(self.before) or 'none'}"
            message = f"`when` of {self.where} has to be about an earlier field, found `{field_id}`"
            self.add(message, "when", "field", hint=hint)
            return None
        if not isinstance(rule, Mapping) or ("equals" in rule) == ("in" in rule) or (field_id is None and not is_open):
            form = "`{field: ID, equals: VALUE}` or `{field: ID, in: [...]}` about an earlier field"
            self.add(f"`when` of {self.where} has to be {form}", "when")
            return None
        if "equals" in rule:
            return When(str(field_id), (rule["equals"],))
        return When(str(field_id), tuple(self.items(rule["in"], f"in of {self.where}", "when", "in")))

    def default(self, field: FormField) -> Any:
        value, names = self.data.get("default"), [option.value for option in field.options]
        values = value if isinstance(value, list) else [value]
        if value is None or value == "" or any(isinstance(entry, Later) for entry in (*values, *names)):
            return None
        if field.type == "multi-select":
            value = [_text(item) for item in values]
        elif field.type != "boolean":
            value = _text(value)
        if message := wrong_with(replace(field, required=False), names, value):
            self.add(f"`default` of {self.where} {message}", "default")
            return None
        return tuple(value) if isinstance(value, list) else value


def _fields(form: _Part, data: Any) -> tuple[FormField, ...]:
    fields: list[FormField] = []
    for number, item in enumerate(form.items(data, "fields"), 1):
        if isinstance(item, Later):
            continue
        if not isinstance(item, Mapping):
            form.add(f"field {number} has to be a mapping, found {value_words(item)}", number - 1)
            continue
        field = _field(form.inner(item, f"field {number}", number - 1, before=[field.id for field in fields]))
        if any(field.id == other.id for other in fields) and not isinstance(field.id, Later):
            form.add(f"field id `{field.id}` is used twice", number - 1, "id")
        fields.append(field)
    return tuple(fields)


def _field(part: _Part) -> FormField:
    data, id_ = part.data, part.text("id")
    if not id_.strip():
        part.add(f"{part.where} has no `id`", hint=_instead("id", data) or "add `id:`")
    part.where = f"field `{id_}`" if id_ else part.where
    part.typing_errors(_FIELD_KEYS)
    type_ = part.type()
    field = FormField(
        id=id_,
        type=type_ or "text",
        label=part.text("label") or id_,
        help=part.text("help"),
        required=part.flag("required"),
        options=part.options(),
        multiline=part.flag("multiline"),
        rows=part.rows(),
        placeholder=part.text("placeholder"),
        when=part.when(),
        json=part.flag("json"),
    )
    if isinstance(data.get("options"), Later) or isinstance(data.get("type"), Later) or type_ is None:
        return field
    if field.is_select and data.get("options") is None:
        if not any(nearest(str(name), ["options"]) for name in data if name not in _FIELD_KEYS):
            hint = _instead("options", data) or "add `options: [A, B]`"
            part.add(f"{part.where} needs `options` to choose from", hint=hint)
        return field
    if field.options and not field.is_select:
        part.add(f"{part.where} has `options`, but its `type` is `{field.type}`", "type")
    return replace(field, default=part.default(field))


def _instead(key: str, data: Mapping[str, Any]) -> str | None:
    """A hint if the key is written with another word."""
    word = next((word for word in _WORDS[key] if word in data), None)
    return None if word is None else f"write `{key}` instead of `{word}`"


def _text(value: Any) -> Any:
    return value if isinstance(value, list | Mapping) else as_text(value)


def to_json(form: Form) -> dict[str, Any]:
    """The form as JSON, in the same structure as the params of a step."""
    return {
        "formId": form.id,
        "title": form.title,
        "description": form.description,
        "fields": [_field_to_json(field) for field in form.fields],
        **({"submitLabel": form.submit} if form.submit else {}),
    }


def _field_to_json(field: FormField) -> dict[str, Any]:
    options = [_to_json(option) for option in field.options] if field.is_select else None
    return _to_json(field, default=field.given_default, json=field.json or None, options=options)


def _to_json(part: FormField | Option, **changes: Any) -> dict[str, Any]:
    """A field or an option without what is not set."""
    when = None if part.when is None else {"field": part.when.field, "in": list(part.when.values)}
    data = {**vars(part), "when": when, **changes}
    return {name: value for name, value in data.items() if name == "value" or value not in (None, "")}
