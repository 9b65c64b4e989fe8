"""Parameters from the command line and from a file."""

from __future__ import annotations

import json
from typing import Any

from handrail.errors import UsageError
from handrail.expressions.parse import plain_value
from handrail.settings import DEFAULT, GROUPS, parse_route
from handrail.source.files import Source, decode
from handrail.source.jsontree import read_json
from handrail.source.simpleyaml import read_yaml
from handrail.source.suggest import did_you_mean
from handrail.source.written import parse_float, written
from handrail.source.yamltree import Node, Trouble


def given_params(pairs: tuple[str, ...], file: str | None) -> dict[str, Any]:
    """The parameters from the file, overridden by those from `NAME=VALUE`."""
    params = _from_file(file) if file is not None else {}
    for item in pairs:
        name, mark, value = item.partition("=")
        if not mark or not name:
            raise UsageError(f"`{item}` is not `NAME=VALUE`")
        params[name] = _value(value)
    return params


def _value(text: str) -> Any:
    """The value as JSON if the text is JSON, else as text. A number keeps its text, so `1.10` is inserted as `1.10`."""
    try:
        value = json.loads(text, parse_constant=lambda name: name, parse_float=parse_float)
    except (ValueError, RecursionError):
        return text
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return written(value, text) if is_number else value


def given_routes(pairs: tuple[str, ...]) -> dict[str, str]:
    """The routes from `GROUP=AGENT` and `GROUP=AGENT:MODEL`."""
    routes: dict[str, str] = {}
    for item in pairs:
        group, _, route = item.partition("=")
        if group not in (*GROUPS, DEFAULT):
            hint = did_you_mean(group, (*GROUPS, DEFAULT)) or f"groups: {', '.join((*GROUPS, DEFAULT))}"
            raise UsageError(f"there is no routing group `{group}`", hint)
        try:
            routes[group] = str(parse_route(route))
        except ValueError:
            raise UsageError(f"`{item}` is not `GROUP=AGENT:MODEL`") from None
    return routes


def _from_file(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as opened:
            source, problems = decode(path, opened.read())
    except (OSError, ValueError) as error:
        raise UsageError(f"the parameters in `{path}` cannot be read: {error}") from error
    if problems:
        raise UsageError(f"{path}:{problems[0].line}:{problems[0].column}: {problems[0].message}", problems[0].hint)
    tree, troubles = _read_tree(source)
    if troubles:
        first = troubles[0]
        raise UsageError(f"{path}:{first.line}:{first.column}: {first.message}", first.hint)
    if tree is None or tree.kind != "mapping":
        raise UsageError(f"{path}:1:1: parameters have to be a mapping of names to values", "write `NAME: VALUE` lines")
    params: dict[str, Any] = plain_value(tree)
    return params


def _read_tree(source: Source) -> tuple[Node | None, list[Trouble]]:
    """The tree of a parameters file: JSON if its name says so, else YAML. Numbers keep their texts."""
    is_json = source.file.endswith(".json")
    return read_json(source.text, keeps_texts=True) if is_json else read_yaml(source.text)
