"""Reads a form from the params of a step, and writes it back as JSON for user interfaces. Pure.

All problems are reported together: at load for values in the file, and when the step runs for values that come from
expressions. Unknown keys are ignored unless they look like a typing error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from handrail.base.dataclasses import dataclass, replace
from handrail.driven.forms.form import TYPES, Form, FormField, Option, Type, When, found, one_of, wrong_with
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
    """The form that the params of a step describe. Raises `Unresolved` with all problems."""
    reading = _FormReader()
    id_ = reading.text(params, "formId", "the form", ())
    if not id_.strip():
        reading.add("`formId` is missing", ())
    title = reading.text(params, "title", "the form", ()) or id_
    description = reading.text(params, "description", "the form", ())
    submit = reading.text(params, "submitLabel", "the form", ())
    form = Form(id_, title, description, reading.fields(params.get("fields")), submit)
    if reading.wrong:
        problems = "; ".join(slip.text for slip in reading.wrong)
        raise Unresolved("form", f"form `{id_}` cannot be shown: {problems}")
    return form


def field_problems(fields: list[Any]) -> list[FormProblem]:
    """The problems of the fields of a form. `Later` marks values that are not known yet."""
    reading = _FormReader()
    reading.fields(fields)
    return reading.wrong


class _FormReader:
    """Reads params and collects problems."""

    def __init__(self) -> None:
        self.wrong: list[FormProblem] = []

    def add(self, message: str, path: FieldPath, key: str | None = None, hint: str | None = None) -> None:
        self.wrong.append(FormProblem(message, path, key, hint))

    def text(self, data: Mapping[str, Any], name: str, where: str, path: FieldPath) -> str:
        value = data.get(name)
        if value is None:
            return ""
        if isinstance(value, list | Mapping):
            self.add(f"`{name}` of {where} has to be text, found {found(value)}", (*path, name))
            return ""
        return value if isinstance(value, Later) else as_text(value)

    def flag(self, data: Mapping[str, Any], name: str, where: str, path: FieldPath) -> bool:
        value = data.get(name)
        if value is None or isinstance(value, bool | Later):
            return value is True
        self.add(f"`{name}` of {where} has to be true or false, found {found(value)}", (*path, name))
        return False

    def typing_errors(self, data: Mapping[str, Any], known: tuple[str, ...], where: str, path: FieldPath) -> None:
        """Report unknown keys that are similar to known ones. Other unknown keys may belong to another tool."""
        for name in data:
            hint = None if name in known else did_you_mean(str(name), known)
            if hint:
                self.add(f"{where} has an unknown key `{name}`", path, str(name), hint)

    def items(self, data: Any, name: str, path: FieldPath) -> list[Any]:
        if isinstance(data, list | tuple):
            return list(data)
        if not isinstance(data, Later):
            self.add(f"`{name}` has to be a list, found {found(data)}", path)
        return []

    def fields(self, data: Any) -> tuple[FormField, ...]:
        fields: list[FormField] = []
        for number, item in enumerate(self.items(data, "fields", ()), 1):
            if isinstance(item, Later):
                continue
            if not isinstance(item, Mapping):
                self.add(f"field {number} has to be a mapping, found {found(item)}", (number - 1,))
                continue
            field = self.field(item, number, [field.id for field in fields])
            if any(field.id == other.id for other in fields) and not isinstance(field.id, Later):
                self.add(f"field id `{field.id}` is used twice", (number - 1, "id"))
            fields.append(field)
        return tuple(fields)

    def field(self, data: Mapping[str, Any], number: int, before: list[str]) -> FormField:
        path: FieldPath = (number - 1,)
        id_ = self.text(data, "id", f"field {number}", path)
        where = f"field `{id_}`" if id_ else f"field {number}"
        if not id_.strip():
            self.add(f"field {number} has no `id`", path, hint=_instead("id", data) or "add `id:`")
        self.typing_errors(data, _FIELD_KEYS, where, path)
        type_ = self.type(data, where, path)
        field = FormField(
            id_,
            type_ or "text",
            self.text(data, "label", where, path) or id_,
            self.text(data, "help", where, path),
            self.flag(data, "required", where, path),
            None,
            self.options(data, where, path, before),
            self.flag(data, "multiline", where, path),
            self.rows(data, where, path),
            self.text(data, "placeholder", where, path),
            self.when(data, where, path, before),
            self.flag(data, "json", where, path),
        )
        if isinstance(data.get("options"), Later) or isinstance(data.get("type"), Later) or type_ is None:
            return field
        if field.is_select and data.get("options") is None:
            if not any(nearest(str(name), ["options"]) for name in data if name not in _FIELD_KEYS):
                hint = _instead("options", data) or "add `options: [A, B]`"
                self.add(f"{where} needs `options` to choose from", path, hint=hint)
            return field
        if field.options and not field.is_select:
            self.add(f"{where} has `options`, but its `type` is `{field.type}`", (*path, "type"))
        return replace(field, default=self.default(field, data.get("default"), where, path))

    def type(self, data: Mapping[str, Any], where: str, path: FieldPath) -> Type | None:
        """The type of a field. If it is unknown, the one that is probably meant, or None."""
        given = data.get("type")
        if given is None or isinstance(given, Later):
            return "text" if data.get("options") is None else "single-select"
        if given not in TYPES:
            message = f"`type` of {where} has to be {one_of(TYPES)}, found {found(given)}"
            near = nearest(as_text(given), TYPES)
            meant = _MEANINGS.get(as_text(given)) or (cast("Type", near[0]) if near else None)
            self.add(message, (*path, "type"), hint=f"did you mean `{meant}`?" if meant else None)
            return meant
        return cast("Type", given)

    def rows(self, data: Mapping[str, Any], where: str, path: FieldPath) -> int | None:
        value = data.get("rows")
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
            return value
        if not isinstance(value, Later):
            self.add(f"`rows` of {where} has to be a whole number, 1 or more, found {found(value)}", (*path, "rows"))
        return None

    def options(self, data: Mapping[str, Any], where: str, path: FieldPath, before: list[str]) -> tuple[Option, ...]:
        if data.get("options") is None:
            return ()
        path = (*path, "options")
        given = self.items(data["options"], f"options of {where}", path)
        options = [self.option(item, where, (*path, place), before) for place, item in enumerate(given)]
        values = [option.value for option in options]
        for place, value in enumerate(values):
            if value in values[:place] and not isinstance(value, Later) and value not in values[place + 1 :]:
                self.add(f"{where} has option `{value}` twice", (*path, place))
        return tuple(options)

    def option(self, item: Any, where: str, path: FieldPath, before: list[str]) -> Option:
        """An option: a mapping with value and label, or only the value."""
        data = item if isinstance(item, Mapping) else {"value": item}
        where = f"an option of {where}"
        value = self.text(data, "value", where, path)
        if data.get("value") is None:
            self.add(f"{where} has no `value`", path)
        self.typing_errors(data, _OPTION_KEYS, where, path)
        label, description = self.text(data, "label", where, path) or value, self.text(data, "description", where, path)
        return Option(value, label, description, self.when(data, where, path, before))

    def when(self, data: Mapping[str, Any], where: str, path: FieldPath, before: list[str]) -> When | None:
        given = data.get("when")
        if given is None or isinstance(given, Later):
            return None
        is_open = isinstance(given, Mapping) and any(isinstance(id_, Later) for id_ in (*before, given.get("field")))
        about = given.get("field") if isinstance(given, Mapping) else None
        if isinstance(about, str) and about not in before and not is_open:
            hint = did_you_mean(about, before) or f"fields before it: {', '.join(before) or 'none'}"
            self.add(
                f"`when` of {where} has to be about an earlier field, found `{about}`",
                (*path, "when", "field"),
                hint=hint,
            )
            return None
        if not isinstance(given, Mapping) or ("equals" in given) == ("in" in given) or (about is None and not is_open):
            form = "`{field: ID, equals: VALUE}` or `{field: ID, in: [...]}` about an earlier field"
            self.add(f"`when` of {where} has to be {form}", (*path, "when"))
            return None
        inner = (*path, "when", "in")
        values = [given["equals"]] if "equals" in given else self.items(given["in"], f"in of {where}", inner)
        return When(str(given["field"]), tuple(values))

    def default(self, field: FormField, value: Any, where: str, path: FieldPath) -> Any:
        if value is None or value == "" or isinstance(value, Later):
            return None
        if isinstance(value, list) and any(isinstance(item, Later) for item in value):
            return None
        names = [option.value for option in field.options]
        if any(isinstance(name, Later) for name in names):
            return None
        if field.type == "multi-select":
            value = [_text(item) for item in (value if isinstance(value, list) else [value])]
        elif field.type != "boolean":
            value = _text(value)
        message = wrong_with(replace(field, required=False), names, value)
        if message:
            self.add(f"`default` of {where} {message}", (*path, "default"))
            return None
        return tuple(value) if isinstance(value, list) else value


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


def from_json(data: Mapping[str, Any]) -> Form:
    return form_from(data)


def _field_to_json(field: FormField) -> dict[str, Any]:
    data = {**vars(field), "default": field.given_default, "when": _when_to_json(field.when)}
    options = [{**vars(option), "when": _when_to_json(option.when)} for option in field.options]
    data["json"] = field.json or None
    data["options"] = [_without_blanks(option) for option in options] if field.is_select else None
    return _without_blanks(data)


def _without_blanks(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name == "value" or value not in (None, "")}


def _when_to_json(when: When | None) -> dict[str, Any] | None:
    return None if when is None else {"field": when.field, "in": list(when.values)}
