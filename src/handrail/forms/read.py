"""A form read from the parameters of a step, and written back in the same shape for any surface. Pure.

Parameters come out of expressions, so what is wrong with them is known only when the step runs: all of it is told
at once. Keys of others are passed over, slips of ours are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from handrail.forms.form import TYPES, Field, Form, Option, Type, When, found, one_of, wrong_with
from handrail.source.suggest import did_you_mean
from handrail.source.values import Unresolved, as_text

_OPTION_KEYS = ("value", "label", "description", "when")
_FIELD_KEYS = (
    *("id", "type", "label", "help", "required", "default", "options"),
    *("multiline", "rows", "placeholder", "when"),
)


def form_from(params: Mapping[str, Any]) -> Form:
    """The form that a step's parameters describe; `Unresolved` with everything that is wrong with them."""
    reading = _Reading()
    id_ = reading.text(params, "formId", "the form")
    if not id_.strip():
        reading.wrong.append("`formId` is missing")
    title = reading.text(params, "title", "the form") or id_
    description = reading.text(params, "description", "the form")
    form = Form(id_, title, description, reading.fields(params.get("fields")))
    if reading.wrong:
        raise Unresolved("form", f"form `{id_}` cannot be asked: {'; '.join(reading.wrong)}")
    return form


class _Reading:
    """Reads resolved parameters; what is wrong is collected."""

    def __init__(self) -> None:
        self.wrong: list[str] = []

    def text(self, data: Mapping[str, Any], name: str, where: str) -> str:
        value = data.get(name)
        if value is None:
            return ""
        if isinstance(value, list | Mapping):
            self.wrong.append(f"`{name}` of {where} has to be text, found {found(value)}")
            return ""
        return as_text(value)

    def flag(self, data: Mapping[str, Any], name: str, where: str) -> bool:
        value = data.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        self.wrong.append(f"`{name}` of {where} has to be true or false, found {found(value)}")
        return False

    def near_misses(self, data: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
        """Keys that we do not know are somebody else's, but not when they look like a slip."""
        for name in data:
            hint = None if name in known else did_you_mean(str(name), known)
            if hint:
                self.wrong.append(f"{where} has a key `{name}`; {hint}")

    def items(self, data: Any, name: str) -> list[Any]:
        if isinstance(data, list | tuple):
            return list(data)
        self.wrong.append(f"`{name}` has to be a list, found {found(data)}")
        return []

    def fields(self, data: Any) -> tuple[Field, ...]:
        fields: list[Field] = []
        for number, item in enumerate(self.items(data, "fields"), 1):
            if not isinstance(item, Mapping):
                self.wrong.append(f"field {number} has to be a mapping, found {found(item)}")
                continue
            field = self.field(item, number, [field.id for field in fields])
            if any(field.id == other.id for other in fields):
                self.wrong.append(f"field id `{field.id}` is used twice")
            fields.append(field)
        return tuple(fields)

    def field(self, data: Mapping[str, Any], number: int, before: list[str]) -> Field:
        id_ = self.text(data, "id", f"field {number}")
        where = f"field `{id_}`" if id_ else f"field {number}"
        if not id_.strip():
            self.wrong.append(f"field {number} has no `id`")
        self.near_misses(data, _FIELD_KEYS, where)
        field = Field(
            id_,
            self.type(data, where),
            self.text(data, "label", where) or id_,
            self.text(data, "help", where),
            self.flag(data, "required", where),
            None,
            self.options(data, where, before),
            self.flag(data, "multiline", where),
            self.rows(data, where),
            self.text(data, "placeholder", where),
            self.when(data, where, before),
        )
        if field.is_select and data.get("options") is None:
            self.wrong.append(f"{where} has no `options` to choose from")
        elif field.options and not field.is_select:
            self.wrong.append(f"{where} has `options`, but its `type` is `{field.type}`")
        return replace(field, default=self.default(field, data.get("default"), where))

    def type(self, data: Mapping[str, Any], where: str) -> Type:
        given = data.get("type")
        if given is None:
            return "text" if data.get("options") is None else "single-select"
        if given not in TYPES:
            hint = did_you_mean(as_text(given), TYPES)
            more = f"; {hint}" if hint else ""
            self.wrong.append(f"`type` of {where} has to be {one_of(TYPES)}, found {found(given)}{more}")
            return "text"
        return cast("Type", given)

    def rows(self, data: Mapping[str, Any], where: str) -> int | None:
        value = data.get("rows")
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
            return value
        self.wrong.append(f"`rows` of {where} has to be a whole number from 1 on, found {found(value)}")
        return None

    def options(self, data: Mapping[str, Any], where: str, before: list[str]) -> tuple[Option, ...]:
        if data.get("options") is None:
            return ()
        options = [self.option(item, where, before) for item in self.items(data["options"], f"options of {where}")]
        values = [option.value for option in options]
        twice = [value for place, value in enumerate(values) if value in values[:place]]
        self.wrong.extend(f"{where} has option `{value}` twice" for value in dict.fromkeys(twice))
        return tuple(options)

    def option(self, item: Any, where: str, before: list[str]) -> Option:
        """An object with its value and label, or just the value."""
        data = item if isinstance(item, Mapping) else {"value": item}
        where = f"an option of {where}"
        value = self.text(data, "value", where)
        if data.get("value") is None:
            self.wrong.append(f"{where} has no `value`")
        self.near_misses(data, _OPTION_KEYS, where)
        label, description = self.text(data, "label", where) or value, self.text(data, "description", where)
        return Option(value, label, description, self.when(data, where, before))

    def when(self, data: Mapping[str, Any], where: str, before: list[str]) -> When | None:
        given = data.get("when")
        if given is None:
            return None
        if not isinstance(given, Mapping) or ("equals" in given) == ("in" in given) or given.get("field") not in before:
            form = "`{field: ID, equals: VALUE}` or `{field: ID, in: [...]}` about a field before it"
            self.wrong.append(f"`when` of {where} has to be {form}")
            return None
        values = [given["equals"]] if "equals" in given else self.items(given["in"], f"in of {where}")
        return When(str(given["field"]), tuple(values))

    def default(self, field: Field, value: Any, where: str) -> Any:
        if value is None or value == "":
            return None
        if field.type == "multi-select":
            value = [_text(item) for item in (value if isinstance(value, list) else [value])]
        elif field.type != "boolean":
            value = _text(value)
        message = wrong_with(replace(field, required=False), [option.value for option in field.options], value)
        if message:
            self.wrong.append(f"`default` of {where} {message}")
            return None
        return tuple(value) if isinstance(value, list) else value


def _text(value: Any) -> Any:
    return value if isinstance(value, list | Mapping) else as_text(value)


def to_json(form: Form) -> dict[str, Any]:
    """The form as a step's parameters would give it, for any surface."""
    return {
        "formId": form.id,
        "title": form.title,
        "description": form.description,
        "fields": [_field_to_json(field) for field in form.fields],
    }


def from_json(data: Mapping[str, Any]) -> Form:
    return form_from(data)


def _field_to_json(field: Field) -> dict[str, Any]:
    data = {**vars(field), "default": field.given_default, "when": _when_to_json(field.when)}
    options = [{**vars(option), "when": _when_to_json(option.when)} for option in field.options]
    data["options"] = [_without_blanks(option) for option in options] if field.is_select else None
    return _without_blanks(data)


def _without_blanks(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name == "value" or value not in (None, "")}


def _when_to_json(when: When | None) -> dict[str, Any] | None:
    return None if when is None else {"field": when.field, "in": list(when.values)}
