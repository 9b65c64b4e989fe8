"""Checks a module of a plugin against `handrail.contracts`: at registration, and in the tests of plugin authors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

from handrail.contracts.check import Check, CheckKind, Place
from handrail.contracts.engine import EngineKind
from handrail.contracts.executor import Executor
from handrail.contracts.host import Host, Level
from handrail.contracts.node import Node, NodeKind
from handrail.contracts.offline import Offline
from handrail.source.fields import Field


def problems_of(kind: str, module: Any) -> list[str]:
    """What is wrong with a module of this kind, one sentence each. Empty if it keeps to the contract."""
    return list(_KINDS[kind](module))


def _node(module: Any) -> Iterator[str]:
    declared = getattr(module, "NODE", None)
    if not isinstance(declared, Node):
        yield f"`NODE` has to be `Node(...)` of `handrail.contracts`, found {_shown(declared)}"
        return
    wrong = [*_fields(declared.params, "NODE.params"), *_text(declared, "about", "NODE")]
    yield from wrong
    if wrong:
        return
    outputs: Any = declared.outputs
    if not isinstance(outputs, Mapping) or not all(isinstance(text, str) for pair in outputs.items() for text in pair):
        yield f"`NODE.outputs` has to be names with what they hold, found {_shown(outputs)}"
        return
    names = [param.name for param in declared.params]
    yield from (f"`NODE.makes` names `{name}`, which is no param" for name in declared.makes if name not in names)
    for key in ("published", "summary", "stops"):
        name = getattr(declared, key)
        if name is not None and name not in outputs and not declared.open_outputs:
            yield f"`NODE.{key}` names `{name}`, which is no output"
    if declared.nests is None:
        yield from _function(module, "run", NodeKind.run, is_async=True)
    if declared.where is not None and not callable(getattr(module, "preview", None)):
        yield "`NODE.where` is set, but there is no function `preview`"


def _check(module: Any) -> Iterator[str]:
    declared = getattr(module, "CHECK", None)
    if not isinstance(declared, Check):
        yield f"`CHECK` has to be `Check(...)` of `handrail.contracts`, found {_shown(declared)}"
        return
    wrong = [*_fields(declared.params, "CHECK.params"), *_text(declared, "about", "CHECK")]
    yield from (*wrong, *_text(declared, "words", "CHECK"))
    if wrong:
        return
    if declared.short is not None and declared.short not in [param.name for param in declared.params]:
        yield f"`CHECK.short` names `{declared.short}`, which is no param"
    if not declared.places or not set(declared.places) <= set(get_args(Place)):
        yield f"`CHECK.places` has to be some of {', '.join(get_args(Place))}, found {_shown(declared.places)}"
    yield from _function(module, "verify", CheckKind.verify, is_async=True)


def _executor(module: Any) -> Iterator[str]:
    yield from _attribute(
        module, "PROGRAM", lambda value: isinstance(value, str) and bool(value), "the name of a program"
    )
    yield from _attribute(module, "ENVIRONMENT", _is_texts, "a tuple of names of variables")
    yield from _functions(module, Executor)


def _host(module: Any) -> Iterator[str]:
    commands = getattr(module, "COMMANDS", None)
    if not isinstance(commands, Mapping) or set(commands) != {"start", "cancel"}:
        yield f"`COMMANDS` has to say what a person types: `start` and `cancel`, found {_shown(commands)}"
    yield from _attribute(module, "LINKS", lambda value: isinstance(value, bool), "true or false")
    is_name = lambda value: value is None or isinstance(value, str)  # noqa: E731 - one expression, used once
    yield from _attribute(module, "CONVERSATION", is_name, "the name of a variable, or None")
    levels = getattr(module, "ENFORCES", None)
    if not isinstance(levels, Mapping) or not set(levels.values()) <= set(get_args(Level)):
        yield f"`ENFORCES` has to give a level ({', '.join(get_args(Level))}) for each rule, found {_shown(levels)}"
    yield from _functions(module, Host)


def _tools(module: Any) -> Iterator[str]:
    for name in ("TOOLS", "FORMER_TOOLS"):
        yield from _attribute(module, name, _is_texts, "a tuple of names of tools")


def _offline(module: Any) -> Iterator[str]:
    for name in Offline.__annotations__:
        yield from _attribute(module, name, lambda _value: True, "a value")
    yield from _functions(module, Offline)


def _engine(module: Any) -> Iterator[str]:
    yield from _functions(module, EngineKind)


_KINDS: Mapping[str, Callable[[Any], Iterator[str]]] = {
    "node": _node,
    "check": _check,
    "executor": _executor,
    "host": _host,
    "tools": _tools,
    "offline": _offline,
    "engine": _engine,
}


def _fields(params: Any, where: str) -> Iterator[str]:
    if not isinstance(params, tuple) or not all(isinstance(param, Field) for param in params):
        yield f"`{where}` has to be a tuple of `Field(...)`, found {_shown(params)}"
        return
    names = [param.name for param in params]
    yield from (f"`{where}` has `{name}` twice" for name in dict.fromkeys(names) if names.count(name) > 1)


def _text(declared: Any, key: str, where: str) -> Iterator[str]:
    value = getattr(declared, key)
    if not isinstance(value, str) or not value.strip():
        yield f"`{where}.{key}` has to be a text for people"


def _functions(module: Any, protocol: type) -> Iterator[str]:
    for name, member in vars(protocol).items():
        if inspect.isfunction(member) and not name.startswith("_"):
            yield from _function(module, name, member)


def _function(module: Any, name: str, wanted: Callable[..., Any], *, is_async: bool = False) -> Iterator[str]:
    """What is wrong with a function, compared with the method of a protocol."""
    found = getattr(module, name, None)
    takes = list(inspect.signature(wanted).parameters)[1:]
    form = f"`{'async ' * is_async}def {name}({', '.join(takes)})`"
    if not callable(found):
        yield f"there is no function `{name}`; write {form}"
        return
    try:
        inspect.signature(found).bind(*takes)
    except (TypeError, ValueError):
        yield f"`{name}` takes other arguments; write {form}"
    if is_async and not inspect.iscoroutinefunction(found):
        yield f"`{name}` is not `async`; write {form}"


def _attribute(module: Any, name: str, is_right: Callable[[Any], bool], wanted: str) -> Iterator[str]:
    if not hasattr(module, name):
        yield f"`{name}` is missing; it has to be {wanted}"
    elif not is_right(getattr(module, name)):
        yield f"`{name}` has to be {wanted}, found {_shown(getattr(module, name))}"


def _is_texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(one, str) for one in value)


def _shown(value: Any) -> str:
    return "nothing" if value is None else f"`{str(value)[:60]}`"
