"""JSON Schemas of artifacts, from Handrail and from the project; and the table of artifact kinds.

A schema may not refer to other documents, so nothing is ever fetched. The JSON Schema library is imported on first
use. It would match patterns with `re`, where one pattern can take hours, so keywords with patterns use Handrail's own.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import handrail
from handrail.base.errors import DefinitionError, NotFound
from handrail.base.files import Unreadable, read_limited, real_inside
from handrail.driven.artifacts.names import ArtifactTable
from handrail.source.json_reader import read_json
from handrail.source.patterns import TooMuchWork, check_pattern, contains_match
from handrail.source.plain_text import counted, some
from handrail.source.suggestions import did_you_mean
from handrail.source.values import shown

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError, ValidationError

DATA = ("const", "enum", "default", "examples")


def _parts(value: Any, place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every mapping in a schema, except in its data, with its place as a JSON pointer."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _parts(item, f"{place}/{number}")
    elif isinstance(value, dict):
        yield place, value
        for name, item in value.items():
            if name not in DATA:
                yield from _parts(item, f"{place}/{name}")


@cache
def bounded_validator() -> type[Draft202012Validator]:
    """The validator class. The library is imported on first use."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    keywords = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
    }
    validator_class: type[Draft202012Validator] = extend(Draft202012Validator, keywords)  # type: ignore[no-untyped-call]  # no types
    return validator_class


def _pattern(_validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if isinstance(value, str) and not contains_match(pattern, value):
        yield ValidationError(f"does not match `{pattern}`")


def _pattern_properties(validator: Any, patterns: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    for pattern, schema in patterns.items() if isinstance(value, dict) else ():
        for name, member in value.items():
            if contains_match(pattern, name):
                yield from validator.descend(member, schema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, rule: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if not isinstance(value, dict):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    extra = [n for n in value if n not in known and not any(contains_match(pattern, n) for pattern in patterns)]
    if isinstance(rule, dict):
        for name in extra:
            yield from validator.descend(value[name], rule, path=name)
    elif not rule and extra:
        names = some([f"`{name}`" for name in extra])
        yield ValidationError(f"has names that are not declared: {names}")


if TYPE_CHECKING:
    _Error = ValidationError | SchemaError

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FOLDER = os.path.join(".handrail", "schemas")
MAX_BYTES = 1_000_000
MAX_PROBLEMS = 5
MAX_ERRORS = 1_000
MAX_LENGTH = 160
_KINDS = {
    "array": "a list", "boolean": "true or false", "integer": "a whole number", "null": "null", "number": "a number",
    "object": "an object", "string": "text",
}  # fmt: skip


class BrokenSchema(DefinitionError):
    """A schema file of the project cannot be used: `what` is wrong with it, and where."""

    def __init__(self, path: str, what: str, hint: str | None = None, place: tuple[int, int] | None = None) -> None:
        position = "" if place is None else f":{place[0]}:{place[1]}"
        super().__init__(f"`{path}{position}` {what}", hint)
        self.what = what
        self.place = place or (1, 1)


@cache
def _read_shipped(name: str) -> dict[str, Any]:
    path = os.path.join(handrail.__path__[0], "builtin", name)
    with open(path, encoding="utf-8") as file:
        data: dict[str, Any] = json.load(file)
    return data


@cache
def artifact_table() -> ArtifactTable:
    return ArtifactTable.from_data(_read_shipped("artifacts.json"))


def schema_ids() -> frozenset[str]:
    return frozenset(_read_shipped("schemas.json")["schemas"])


def builtin_schema(id_: str) -> dict[str, Any] | None:
    """A shipped schema with all its definitions. None if there is no such schema."""
    data = _read_shipped("schemas.json")
    schema = data["schemas"].get(id_)
    return None if schema is None else {"$schema": DIALECT, **schema, "$defs": data["$defs"]}


def plugin_schema_ids(folders: Mapping[str, str]) -> frozenset[str]:
    """The ids of the schemas of plugins: `ID/NAME`. `folders` are their folders with schemas, by `ID`."""
    return frozenset(f"{id_}/{name}" for id_, folder in folders.items() for name in _ids_below(folder))


def project_schema_ids(project: str) -> frozenset[str]:
    """The ids of the project's schemas, valid or not."""
    return _ids_below(os.path.join(project, FOLDER))


def _ids_below(root: str) -> frozenset[str]:
    ids: list[str] = []
    for folder, folders, names in os.walk(root):
        folders.sort()
        ids += [os.path.relpath(os.path.join(folder, name), root)[:-5] for name in names if name.endswith(".json")]
        if len(ids) > 10_000:
            break
    return frozenset(id_.replace(os.sep, "/") for id_ in ids)


def find_schema(id_: str, project: str, folders: Mapping[str, str]) -> dict[str, Any]:
    """The project's schema with this id, else that of a plugin, else the shipped one. Raises `NotFound`.

    `folders` are the folders with schemas of plugins, by the ids of the plugins.
    """
    path = os.path.join(FOLDER, f"{id_}.json")
    if not re.fullmatch(r"[\w-][\w.-]*(/[\w-][\w.-]*)*", id_):
        raise DefinitionError(f"`{shown(id_, 80)}` cannot be the id of a schema", "write it like `report/v1`")
    schema = _read(os.path.join(project, FOLDER), id_, FOLDER)
    plugin, _, name = id_.partition("/")
    if schema is None and plugin in folders:
        path = os.path.join(folders[plugin], f"{name}.json")
        schema = _read(folders[plugin], name, folders[plugin])
    schema = builtin_schema(id_) if schema is None else schema
    if schema is None:
        known = schema_ids() | project_schema_ids(project) | plugin_schema_ids(folders)
        raise NotFound(f"there is no schema `{id_}`", did_you_mean(id_, known) or f"write it as `{path}`")
    return schema


def schema_fault(id_: str, project: str) -> BrokenSchema | None:
    """What is wrong with a schema file of the project. None if it can be used."""
    try:
        _read(os.path.join(project, FOLDER), id_, FOLDER)
    except BrokenSchema as error:
        return error
    return None


def _read(root: str, id_: str, folder: str) -> dict[str, Any] | None:
    """The schema in a file below the folder `root`. None if it does not exist. `folder` is how the folder is shown."""
    path, real = os.path.join(folder, f"{id_}.json"), real_inside(root, f"{id_}.json")
    if real is None:
        raise BrokenSchema(path, f"leads out of `{folder}`", "copy the file into that folder")
    try:
        return _parse_schema(read_limited(real, MAX_BYTES).decode("utf-8-sig"), path)
    except Unreadable as error:
        if error.is_missing:
            return None
        raise BrokenSchema(path, error.message, "split the schema" if "bytes" in error.message else None) from error
    except UnicodeDecodeError as error:
        raise BrokenSchema(path, f"is not UTF-8 text: {error.reason} at byte {error.start}") from error


def _parse_schema(text: str, path: str) -> dict[str, Any]:
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BrokenSchema(path, f"is not JSON: {_short(str(error))}") from error
    if not isinstance(schema, dict):
        raise BrokenSchema(path, "has to be a JSON object")
    if schema.get("$schema", DIALECT) not in (DIALECT, f"{DIALECT}#"):
        hint = f"remove `$schema`, or write `{DIALECT}`"
        raise BrokenSchema(path, f"has to use draft 2020-12, found {_value_words(schema['$schema'])}", hint)
    if (problem := problem_of_schema(schema)) is not None:
        raise BrokenSchema(path, f"is not a JSON Schema: {problem[0]}", place=_place_in(text, problem[1]))
    return schema


def _place_in(text: str, path: tuple[str | int, ...]) -> tuple[int, int] | None:
    """The line and column of a value in JSON text. None for the whole text."""
    node = read_json(text)[0] if path else None
    for part in path:
        members = node.value if node is not None and node.kind in ("list", "mapping") else None
        try:
            node = members[part] if members is not None else None
        except (LookupError, TypeError):
            node = None
    return None if node is None else (node.line, node.column)


def problem_of_schema(schema: dict[str, Any]) -> tuple[str, tuple[str | int, ...]] | None:
    """What is wrong with a schema, and the path to it. None if it is valid."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        if (wrong := _unsafe(schema)) is not None:
            return wrong, ()
        Draft202012Validator.check_schema(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    except SchemaError as error:
        return _problem(error), tuple(error.absolute_path)
    except RecursionError:
        return "it is nested too deeply", ()
    return None


def _unsafe(schema: Any) -> str | None:
    """Why a schema may not be used. None if it needs no other document, and its patterns match in bounded time."""
    references = (part.get(name) for _, part in _parts(schema, "") for name in ("$ref", "$dynamicRef"))
    for reference in references:
        if isinstance(reference, str) and not reference.startswith("#"):
            return f"it refers to {_value_words(reference)}; only `#...` inside the same file is allowed"
    for place, part in _parts(schema, ""):
        groups, single = part.get("patternProperties"), part.get("pattern")
        patterns = dict.fromkeys(groups, f"{place}/patternProperties") if isinstance(groups, dict) else {}
        if "unevaluatedProperties" in part and patterns:
            return f"`{place}/patternProperties` does not work with `unevaluatedProperties`"
        for pattern, where in (patterns | ({single: f"{place}/pattern"} if isinstance(single, str) else {})).items():
            if (wrong := check_pattern(pattern)) is not None:
                return (
                    f"`{where}`: `{shown(pattern, 60)}` is not a pattern, at character {wrong.at + 1}: {wrong.message}"
                )
    return None


def problems_of(schema: dict[str, Any], data: Any) -> list[str]:
    """The first problems of data, each with its place as a JSON pointer, and how many more there are.

    Empty if the data match the schema.
    """
    from jsonschema.exceptions import UnknownType
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    try:
        if (wrong := _unsafe(schema)) is not None:
            return [f"the schema cannot be used: {wrong}"]
        validator = bounded_validator()(schema, registry=Registry())  # empty, so nothing is fetched
        errors = sorted(islice(validator.iter_errors(data), MAX_ERRORS), key=lambda e: list(map(str, e.path)))
    except RecursionError:
        return ["the data or the schema is nested too deeply"]
    except (Unresolvable, UnknownType, TooMuchWork) as error:
        return [f"the schema cannot be used: {_short(str(error))}"]
    problems = list(dict.fromkeys(_problem(error) for error in errors))
    if len(problems) <= MAX_PROBLEMS:
        return problems
    more = "many" if len(errors) == MAX_ERRORS else len(problems) - MAX_PROBLEMS
    return [*problems[:MAX_PROBLEMS], f"… and {more} more"]


def _problem(error: _Error) -> str:
    place = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in error.absolute_path)
    return f"{f'`{_short(place)}`' if place else 'the value'} {_short(_what(error))}"


def _what(error: _Error) -> str:
    """What is wrong at one place. The most frequent rules have Handrail's own texts."""
    rule: Any = error.validator_value
    value: Any = error.instance
    match error.validator:
        case "required":
            missing = [f"`{name}`" for name in rule if name not in value]
            return f"lacks {some(missing)}"
        case "type":
            kinds = [_KINDS.get(kind, str(kind)) for kind in ([rule] if isinstance(rule, str) else rule)]
            return f"has to be {' or '.join(kinds)}, found {_value_words(value)}"
        case "enum":
            return f"is {_value_words(value)}, but has to be one of {', '.join(map(_value_words, rule))}"
        case "pattern":
            return "is empty" if rule == r"\S" else f"has to match `{rule}`, found {_value_words(value)}"
        case "minItems":
            return f"needs at least {counted(rule, 'item')}, found {len(value)}"
        case "anyOf" | "oneOf" if error.context:
            forms: dict[Any, list[_Error]] = {}
            for inner in error.context:
                forms.setdefault(inner.schema_path[0], []).append(inner)
            nearest = min(forms.values(), key=len)[0]
            return f"matches none of its {counted(len(rule), 'form')}; the nearest one: {_what(nearest)}"
        case _:
            return error.message


def _value_words(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = json.dumps(value, ensure_ascii=False)
    return f"`{text[:40]}{'…' if len(text) > 40 else ''}`"


def _short(text: str) -> str:
    return shown("".join(char if char.isprintable() else " " for char in text), MAX_LENGTH)
