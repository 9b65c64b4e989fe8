"""JSON Schema with bounded patterns: the keywords that match regular expressions use Handrail's own patterns.

The JSON Schema library would match them with `re`, and one pattern can take hours there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from handrail.source.patterns import check_pattern, contains_match
from handrail.source.plain import some

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

DATA = ("const", "enum", "default", "examples")


def problem_of_patterns(schema: Any) -> str | None:
    """What is wrong with the patterns of a schema. None if all can be matched in bounded time."""
    for place, part in _parts(schema, ""):
        groups, single = part.get("patternProperties"), part.get("pattern")
        several = dict.fromkeys(groups, f"{place}/patternProperties") if isinstance(groups, dict) else {}
        one = {single: f"{place}/pattern"} if isinstance(single, str) else {}
        for pattern, where in {**several, **one}.items():
            wrong = check_pattern(pattern)
            if wrong is not None:
                shown = pattern if len(pattern) <= 60 else pattern[:59] + "…"
                return f"`{where}`: `{shown}` is not a pattern, at character {wrong.at + 1}: {wrong.message}"
        if "unevaluatedProperties" in part and several:
            return f"`{place}/patternProperties` does not work with `unevaluatedProperties`"
    return None


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
    made: type[Draft202012Validator] = extend(Draft202012Validator, keywords)  # type: ignore[no-untyped-call]  # no types
    return made


def _pattern(_validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if isinstance(value, str) and not contains_match(pattern, value):
        yield ValidationError(f"does not match `{pattern}`")


def _pattern_properties(validator: Any, patterns: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    for pattern, schema in patterns.items() if isinstance(value, dict) else ():
        for name, member in value.items():
            if contains_match(pattern, name):
                yield from validator.descend(member, schema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if not isinstance(value, dict):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    extra = [n for n in value if n not in known and not any(contains_match(pattern, n) for pattern in patterns)]
    if isinstance(wanted, dict):
        for name in extra:
            yield from validator.descend(value[name], wanted, path=name)
    elif not wanted and extra:
        names = some([f"`{name}`" for name in extra])
        yield ValidationError(f"has names that are not declared: {names}")
